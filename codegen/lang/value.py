"""ElementValue values of tensor expressions: Python's operators make expressions of the loop language."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from keyword import iskeyword
from numbers import Integral, Real
from typing import Any

from aot.ir.types import DType
from codegen.lang.door import door, door_named
from codegen.lang.index import Axis, Position
from codegen.lang.misuse import misuse
from codegen.lang.operators import OF_VALUES, refuse_operators
from codegen.lang.spans import Span, cast_span, combined, joined, span_of
from codegen.loops.ir import (
    Apply,
    Binary,
    Buffer,
    Cast,
    Choose,
    Const,
    Expr,
    Index,
    Role,
    ScalarFunction,
    load,
)

_numbers = itertools.count()  # tell reductions apart until their tensor names them
_SAME = 1e-5  # between scales that single precision has rounded
_WIDE = (DType.I64, DType.U64)
_WHOLE = (DType.I32, *_WIDE)  # the types of numbers without a point, the first that holds it


@dataclass(frozen=True, eq=False)
class GrowingLocal:
    """A local that grows over axes: by sums, or as the greatest or least so far."""

    local: Buffer
    op: str  # "+", "max" or "min"
    start: ElementValue
    value: ElementValue
    axes: tuple[Axis, ...]


@dataclass(frozen=True, eq=False)
class ElementValue:
    """An expression, its type as C has it, and the reductions that must be done before it."""

    expr: Expr
    dtype: DType
    reductions: tuple[GrowingLocal, ...] = ()
    scale: float | None = None  # of a quantised value: times it, the integer is the number
    span: Span | None = field(default=None, repr=False)  # least and greatest, where they are known
    __array_ufunc__ = None  # so that a number of NumPy before an operator leaves it to the value

    def __add__(self, other: Operand) -> ElementValue:
        return _binary("+", self, other)

    def __radd__(self, other: Operand) -> ElementValue:
        return _binary("+", other, self)

    def __sub__(self, other: Operand) -> ElementValue:
        return _binary("-", self, other)

    def __rsub__(self, other: Operand) -> ElementValue:
        return _binary("-", other, self)

    def __mul__(self, other: Operand) -> ElementValue:
        return _binary("*", self, other)

    def __rmul__(self, other: Operand) -> ElementValue:
        return _binary("*", other, self)

    def __neg__(self) -> ElementValue:
        return _binary("-", 0, self)

    def __lt__(self, other: Operand) -> ElementValue:
        return _binary("<", self, other)

    def __gt__(self, other: Operand) -> ElementValue:
        return _binary("<", other, self)

    def __le__(self, other: Operand) -> ElementValue:
        return (self < other) + (self == other)

    def __ge__(self, other: Operand) -> ElementValue:
        return (self > other) + (self == other)

    def __eq__(self, other: Operand) -> ElementValue:  # type: ignore[override]
        return _binary("==", self, other)

    def __ne__(self, other: Operand) -> ElementValue:  # type: ignore[override]
        return _binary("==", self == other, 0)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise misuse(
            "a value is not known while the expression is made", "where(a < b, x, y) chooses when it runs"
        )


refuse_operators(ElementValue, "values", OF_VALUES)
Operand = ElementValue | Position | int | float


def to_value(given: Operand) -> ElementValue:
    if isinstance(given, ElementValue):
        return given
    if isinstance(given, Position):
        low, high = DType.I32.limits
        if not low <= given.least <= given.most <= high:
            raise misuse(f"a place from {given.least:,} to {given.most:,} is no number of 32 bits")
        return ElementValue(Index(given.affine), DType.I32, span=(given.least, given.most))
    if isinstance(given, bool) or not isinstance(given, Real):
        raise misuse(f"{given!r} is no value", "values are elements of tensors, axes and numbers")
    if not isinstance(given, Integral):
        return ElementValue(Const(float(given)), DType.F32)
    number = int(given)
    kind = next((kind for kind in _WHOLE if kind.limits[0] <= number <= kind.limits[1]), None)
    if kind is None:
        raise misuse(f"{number} is beyond 64 bits", "numbers are whole and of up to 64 bits, or real")
    return ElementValue(Const(number), kind, span=(number, number))


def _binary(op: str, left: Operand, right: Operand) -> ElementValue:
    a, b = to_value(left), to_value(right)
    is_asked = op in ("<", "==")
    dtype = DType.I32 if is_asked else _common(a.dtype, b.dtype)
    scale = _product_of_scales(a, b) if op == "*" else _same_scale(a, b)
    span = combined(op, a.span, b.span, dtype)
    return ElementValue(Binary(op, a.expr, b.expr), dtype, _joined(a, b), None if is_asked else scale, span)


def _product_of_scales(a: ElementValue, b: ElementValue) -> float | None:
    scales = [value.scale for value in (a, b) if value.scale is not None]
    return math.prod(scales) if scales else None


def _same_scale(a: ElementValue, b: ElementValue) -> float | None:
    """The scale of both. Zero has every scale."""
    if a.expr == Const(0) or a.scale == b.scale:
        return b.scale
    if b.expr == Const(0):
        return a.scale
    if a.scale is None or b.scale is None or not math.isclose(a.scale, b.scale, rel_tol=_SAME):
        said = (
            f"of scale {value.scale:.6g}" if value.scale is not None else "without a scale"
            for value in (a, b)
        )
        raise misuse(
            f"a value {' and one '.join(said)} do not go together",
            "compute one of them into a tensor of the other's scale first",
        )
    return a.scale


def _common(a: DType, b: DType) -> DType:
    """The type that C computes in."""
    if DType.F32 in (a, b):
        return DType.F32
    return next((dtype for dtype in _WIDE if dtype in (a, b)), DType.I32)


def _joined(*values: ElementValue) -> tuple[GrowingLocal, ...]:
    return tuple(dict.fromkeys(r for value in values for r in value.reductions))


def _scale_said(value: ElementValue) -> str:
    return f"of scale {value.scale:.6g}" if value.scale is not None else "without a scale"


@door
def minimum(left: Operand, right: Operand) -> ElementValue:
    return _binary("min", left, right)


@door
def maximum(left: Operand, right: Operand) -> ElementValue:
    return _binary("max", left, right)


@door
def equal(left: Operand, right: Operand) -> ElementValue:
    """1 where the two are equal, else 0."""
    return _binary("==", left, right)


@door
def clamp(value: Operand, low: Operand, high: Operand) -> ElementValue:
    if isinstance(low, int | float) and isinstance(high, int | float) and low > high:
        raise misuse(f"nothing is between {low} and {high}", "clamp(value, low, high)")
    return maximum(minimum(value, high), low)


@door
def where(condition: ElementValue, yes: Operand, no: Operand) -> ElementValue:
    """One of two values; the other is not computed."""
    a, b = to_value(yes), to_value(no)
    return ElementValue(
        Choose(condition.expr, a.expr, b.expr),
        _common(a.dtype, b.dtype),
        _joined(condition, a, b),
        _same_scale(a, b),
        joined(a.span, b.span),
    )


@door
def cast(dtype: str, value: Operand) -> ElementValue:
    """The value as C converts it to a type such as "i8"."""
    kind, inner = dtype_of(dtype), to_value(value)
    span = cast_span(kind, inner.span)
    return ElementValue(Cast(kind, inner.expr), kind, inner.reductions, inner.scale, span)


def require_name(name: str, what: str) -> None:
    """Raises InputError where a word names nothing in Python's texts."""
    if not name.isidentifier() or iskeyword(name):
        raise misuse(f'"{name}" is no name of {what}', "a name is an identifier of Python")


def dtype_of(name: str) -> DType:
    known = [dtype.value for dtype in DType]
    if name not in known:
        raise misuse(f'"{name}" is no type', f"known: {', '.join(known)}")
    return DType(name)


@door
def function(name: str, dtype: str, c: str, compute: Callable[..., Any]) -> Callable[..., ElementValue]:
    """A function of one's own: `c` defines it for the device, `compute` says in Python what it gives."""
    require_name(name, "a function")
    made = ScalarFunction(name, dtype_of(dtype), c, compute)

    def call(*arguments: Operand) -> ElementValue:
        values = [to_value(argument) for argument in arguments]
        expr = Apply(made, tuple(v.expr for v in values))
        return ElementValue(expr, made.result, _joined(*values), span=span_of(made.result))

    return call


@door_named("sum")
def sum_of(value: Operand, *axes: Axis, start: Operand = 0) -> ElementValue:
    """The sum over axes, from `start` on: 32 bits wide for integers."""
    return _reduced("sum", "+", value, axes, to_value(start))


@door_named("max")
def most_of(value: Operand, *axes: Axis) -> ElementValue:
    """The greatest over axes."""
    return _reduced("most", "max", value, axes, None)


@door_named("min")
def least_of(value: Operand, *axes: Axis) -> ElementValue:
    """The least over axes."""
    return _reduced("least", "min", value, axes, None)


def _reduced(
    name: str, op: str, value: Operand, axes: tuple[Axis, ...], start: ElementValue | None
) -> ElementValue:
    inner = to_value(value)
    if not axes:
        raise misuse("a reduction needs axes to go over", 'such as k = reduce_axis("k", 64)')
    names = [axis.name for axis in axes]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise misuse(f"a reduction goes over {twice} twice", "two axes have two names")
    if inner.reductions or (start is not None and start.reductions):
        raise misuse("a reduction of what is reduced itself is not one step", "compute the inner one first")
    dtype = _common(inner.dtype, inner.dtype)
    if start is not None:
        _same_scale(start, inner)
    begin = start if start is not None else ElementValue(Const(_end_of(dtype, op)), dtype)
    local = Buffer(f"{name}#{next(_numbers)}", dtype, 1, Role.LOCAL)
    span = None if op == "+" else inner.span
    grown = GrowingLocal(local, op, begin, inner, axes)
    return ElementValue(load(local), dtype, (grown,), inner.scale, span)


def _end_of(dtype: DType, op: str) -> int | float:
    """The value that every other is beyond."""
    if dtype is DType.F32:
        return float("-inf") if op == "max" else float("inf")
    low, high = dtype.limits
    return low if op == "max" else high
