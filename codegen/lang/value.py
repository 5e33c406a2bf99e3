"""Values of tensor expressions. Python operators build expressions of the loop language."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from keyword import iskeyword
from numbers import Integral, Real
from typing import Any

from aot.ir.types import DType
from codegen.lang.index import Axis, Position, take_values
from codegen.lang.instruction import facts_of
from codegen.lang.misuse import checks_arguments, checks_arguments_as, misuse
from codegen.lang.operators import OF_VALUES, WholeOperators, refuse_operators
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
from codegen.loops.operators import BITS, COMPARISONS, DIVISIONS, SHIFTS, common_type
from codegen.loops.ranges import Range, fault, result_range, type_range

# Integer spans (least, greatest), which prove that C code does not overflow.
#
# Values of 32 bits and more, including sums, have no span. The code that computes them must guarantee that
# they fit.


_NARROW_BYTES = 2


def span_of(dtype: DType) -> Range | None:
    """Returns the span of a narrow type, or None."""
    return type_range(dtype) if dtype is not DType.F32 and dtype.bytes <= _NARROW_BYTES else None


def combined(op: str, a: Range | None, b: Range | None, dtype: DType) -> Range | None:
    """Returns the span of a result. Raises InputError if it exceeds the type in which C computes it."""
    if op in ("<", "=="):
        return 0, 1
    if a is None or b is None or not dtype.is_integer:
        return None
    return _within(result_range(op, a, b), dtype)


def whole_span(
    op: str, a: Range | None, b: Range | None, limits: tuple[DType, DType], kind: DType
) -> Range | None:
    """Returns the span of a shift, bit operation or division. An operand's type is its default span.

    Raises InputError if C does not define the result. A left shift of an operand without a span may lose
    bits.
    """
    left = type_range(limits[0]) if a is None else a
    right = type_range(limits[1]) if b is None else b
    what, hint = fault(op, left, right, kind)
    if what:
        raise misuse(what, hint)
    return None if op == "<<" and a is None else _within(result_range(op, left, right), kind)


def _within(span: Range, dtype: DType) -> Range | None:
    """Returns the span if the type holds it. Unsigned types wrap, so a larger span becomes None."""
    least, most = span
    if dtype.limits[0] == 0 and not 0 <= least <= most <= dtype.limits[1]:
        return None
    if not dtype.limits[0] <= least <= most <= dtype.limits[1]:
        raise misuse(
            f"a result can reach {least:,} to {most:,}, outside the {8 * dtype.bytes} bits of {dtype.value}",
            'cast("i64", x) computes in 64 bits; clamp(x, low, high) limits a value',
        )
    return span


def joined(a: Range | None, b: Range | None) -> Range | None:
    """Returns the span that covers both."""
    return None if a is None or b is None else (min(a[0], b[0]), max(a[1], b[1]))


def cast_span(dtype: DType, span: Range | None) -> Range | None:
    """Returns the span of a value converted to a type."""
    if span is None or not dtype.is_integer:
        return span_of(dtype)
    low, high = dtype.limits
    return span if low <= span[0] and span[1] <= high else span_of(dtype)


_numbers = itertools.count()  # distinguish reductions until their tensor names them
_SAME = 1e-5  # relative; scales are rounded to single precision
_UNSIGNED = (DType.U32, DType.U64)
_WHOLE = (DType.I32, DType.I64, DType.U64)  # types of an integer literal; the first that holds it


@dataclass(frozen=True, eq=False)
class GrowingLocal:
    """A local that accumulates over axes: a sum, or a running maximum or minimum."""

    local: Buffer
    op: str  # "+", "max" or "min"
    start: ElementValue
    value: ElementValue
    axes: tuple[Axis, ...]


@dataclass(frozen=True, eq=False)
class ElementValue(WholeOperators["ElementValue"]):
    """An expression, its type in C, and the reductions that must run before it."""

    expr: Expr
    dtype: DType
    reductions: tuple[GrowingLocal, ...] = ()
    scale: float | None = None  # of a quantized value: number = scale * integer
    span: Range | None = field(default=None, repr=False)  # least and greatest value, if known
    __array_ufunc__ = None  # a NumPy number on the left leaves the operator to the value

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
        return replace((self < other) + (self == other), span=(0, 1))

    def __ge__(self, other: Operand) -> ElementValue:
        return replace((self > other) + (self == other), span=(0, 1))

    def __eq__(self, other: Operand) -> ElementValue:  # type: ignore[override]
        return _binary("==", self, other)

    def __ne__(self, other: Operand) -> ElementValue:  # type: ignore[override]
        return _binary("==", self == other, 0)

    def _by(self, op: str, other: Any) -> ElementValue:
        return _inverted(self) if op == "~" else _whole(op, self, other)

    def _under(self, op: str, other: Any) -> ElementValue:
        return _whole(op, other, self)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise misuse(
            "a value is not known while the expression is built", "where(a < b, x, y) chooses at run time"
        )


refuse_operators(ElementValue, "values", OF_VALUES)
Operand = ElementValue | Position | int | float


def to_value(given: Operand) -> ElementValue:
    if isinstance(given, ElementValue):
        return given
    if isinstance(given, Position):
        low, high = DType.I32.limits
        if not low <= given.least <= given.most <= high:
            raise misuse(f"a position from {given.least:,} to {given.most:,} does not fit 32 bits")
        return ElementValue(Index(given.affine), DType.I32, span=(given.least, given.most))
    if isinstance(given, bool) or not isinstance(given, Real):
        raise misuse(f"{given!r} is not a value", "use elements of tensors, axes or numbers")
    if not isinstance(given, Integral):
        return ElementValue(Const(float(given)), DType.F32)
    number = int(given)
    kind = next((kind for kind in _WHOLE if kind.limits[0] <= number <= kind.limits[1]), None)
    if kind is None:
        raise misuse(f"{number} does not fit 64 bits", "use integers of up to 64 bits, or floats")
    return ElementValue(Const(number), kind, span=(number, number))


def _binary(op: str, left: Operand, right: Operand) -> ElementValue:
    a, b = _of_one_sign(to_value(left), to_value(right))
    is_asked = op in COMPARISONS
    dtype = DType.I32 if is_asked else common_type(a.dtype, b.dtype)
    scale = _product_of_scales(a, b) if op == "*" else _same_scale(a, b)
    span = combined(op, a.span, b.span, dtype)
    return ElementValue(Binary(op, a.expr, b.expr), dtype, _joined(a, b), None if is_asked else scale, span)


def _whole(op: str, left: Operand, right: Operand) -> ElementValue:
    """Returns a shift, bit operation or division of integers."""
    a, b = to_value(left), to_value(right)
    for value in (a, b):
        if value.dtype is DType.F32:
            raise misuse(f"floats are not {_DONE[op]}", 'cast("i32", x) converts to an integer')
        if value.scale is not None:
            raise misuse(
                f"a value {_scale_text(value)} is not {_DONE[op]}: it represents a float",
                "use a placeholder with an unquantized type",
            )
    a, b = (a, b) if op in SHIFTS else _of_one_sign(a, b)
    kind = common_type(a.dtype, DType.I32 if op in SHIFTS else b.dtype)
    span = whole_span(op, a.span, b.span, (a.dtype, b.dtype), kind)
    return ElementValue(Binary(op, a.expr, b.expr), _whole_type(op, a, b, kind), _joined(a, b), span=span)


_DONE = {
    **dict.fromkeys(SHIFTS, "shifted"),
    **dict.fromkeys(BITS, "combined bit by bit"),
    **dict.fromkeys(DIVISIONS, "divided with a rest"),
}


def _whole_type(op: str, a: ElementValue, b: ElementValue, kind: DType) -> DType:
    """Returns the result's type. Bit operations on one type and right shifts keep the type."""
    if op == ">>":
        return a.dtype
    if op in BITS:
        for one, other in ((a, b), (b, a)):
            if one.dtype is other.dtype or (isinstance(other.expr, Const) and _holds(one.dtype, other)):
                return one.dtype
    return kind


def _holds(dtype: DType, value: ElementValue) -> bool:
    low, high = type_range(dtype)
    return value.span is not None and low <= value.span[0] <= value.span[1] <= high


def _inverted(value: ElementValue) -> ElementValue:
    """Inverts each bit of the type."""
    if value.dtype is DType.BOOL or _is_asked(value.expr):
        raise misuse("~ inverts all bits, but a comparison is 1 or 0", "use 1 - c for the opposite")
    high = value.dtype.limits[1] if value.dtype is DType.U8 or value.dtype in _UNSIGNED else -1
    return _whole("^", value, high)


def _is_asked(expr: Expr) -> bool:
    """Returns True for a comparison, or a combination of comparisons."""
    match expr:
        case Binary("<" | "=="):
            return True
        case Binary("+" | "&" | "|" | "^", left, right):
            return _is_asked(left) and _is_asked(right)
    return False


def _of_one_sign(a: ElementValue, b: ElementValue) -> tuple[ElementValue, ElementValue]:
    """Returns both operands in one signedness. Raises InputError if C's conversion would change a value."""
    a, b = _without_sign(a, b), _without_sign(b, a)
    kind = common_type(a.dtype, b.dtype)
    for value in (a, b) if kind in _UNSIGNED else ():
        if value.dtype not in (DType.U8, DType.BOOL, *_UNSIGNED) and (
            value.span is None or value.span[0] < 0
        ):
            said = (
                f"{value.span[0]:,}"
                if isinstance(value.expr, Const) and value.span
                else "what can be less than 0"
            )
            raise misuse(
                f"{kind.value} and {said} cannot be combined",
                'cast both to one type, for example cast("i64", x)',
            )
    return a, b


def _without_sign(value: ElementValue, other: ElementValue) -> ElementValue:
    """Converts a literal that C would make 64-bit to u32 if the other operand is u32."""
    if isinstance(value.expr, Const) and other.dtype is DType.U32 and _holds(DType.U32, value):
        return (
            replace(value, expr=Cast(DType.U32, value.expr), dtype=DType.U32)
            if value.dtype is DType.I64
            else value
        )
    return value


def _product_of_scales(a: ElementValue, b: ElementValue) -> float | None:
    scales = [value.scale for value in (a, b) if value.scale is not None]
    return math.prod(scales) if scales else None


def _same_scale(a: ElementValue, b: ElementValue) -> float | None:
    """Returns the common scale. Zero fits every scale."""
    if a.expr == Const(0) or a.scale == b.scale:
        return b.scale
    if b.expr == Const(0):
        return a.scale
    if a.scale is None or b.scale is None or not math.isclose(a.scale, b.scale, rel_tol=_SAME):
        said = " and one ".join(map(_scale_text, (a, b)))
        raise misuse(
            f"a value {said} cannot be combined",
            "compute one of them into a tensor of the other's scale first",
        )
    return a.scale


def _joined(*values: ElementValue) -> tuple[GrowingLocal, ...]:
    return tuple(dict.fromkeys(r for value in values for r in value.reductions))


def _scale_text(value: ElementValue) -> str:
    return f"of scale {value.scale:.6g}" if value.scale is not None else "without a scale"


@checks_arguments
def minimum(left: Operand, right: Operand) -> ElementValue:
    return _binary("min", left, right)


@checks_arguments
def maximum(left: Operand, right: Operand) -> ElementValue:
    return _binary("max", left, right)


@checks_arguments
def equal(left: Operand, right: Operand) -> ElementValue:
    """Returns 1 if both are equal, else 0."""
    return _binary("==", left, right)


@checks_arguments
def clamp(value: Operand, low: Operand, high: Operand) -> ElementValue:
    if isinstance(low, int | float) and isinstance(high, int | float) and low > high:
        raise misuse(f"no value is between {low} and {high}", "clamp(value, low, high)")
    return maximum(minimum(value, high), low)


@checks_arguments
def where(condition: ElementValue, yes: Operand, no: Operand) -> ElementValue:
    """Returns one of two values. The other is not evaluated."""
    a, b = _of_one_sign(to_value(yes), to_value(no))
    return ElementValue(
        Choose(condition.expr, a.expr, b.expr),
        common_type(a.dtype, b.dtype),
        _joined(condition, a, b),
        _same_scale(a, b),
        joined(a.span, b.span),
    )


@checks_arguments
def cast(dtype: str, value: Operand) -> ElementValue:
    """Converts a value to a type such as "i8", as C does."""
    kind, inner = dtype_of(dtype), to_value(value)
    span = cast_span(kind, inner.span)
    return ElementValue(Cast(kind, inner.expr), kind, inner.reductions, inner.scale, span)


def require_name(name: str, what: str) -> None:
    """Raises InputError if a name is not a Python identifier."""
    if not name.isidentifier() or iskeyword(name):
        raise misuse(f'"{name}" is not a valid name for {what}', "use a Python identifier")


def dtype_of(name: str) -> DType:
    known = [dtype.value for dtype in DType]
    if name not in known:
        raise misuse(f'"{name}" is not a type', f"known: {', '.join(known)}")
    return DType(name)


@checks_arguments
def function(name: str, dtype: str, c: str, compute: Callable[..., Any]) -> Callable[..., ElementValue]:
    """Returns a custom function: `c` defines it for the device, `compute` gives its result in Python."""
    require_name(name, "a function")
    told = facts_of(name, c)
    made = ScalarFunction(name, dtype_of(dtype), c, compute, is_inline=told.is_inline)

    def call(*arguments: Operand) -> ElementValue:
        values = [to_value(argument) for argument in arguments]
        expr = Apply(made, tuple(v.expr for v in values))
        return ElementValue(expr, made.result, _joined(*values), span=span_of(made.result))

    return call


@checks_arguments_as("sum")
def sum_of(value: Operand, *axes: Axis, start: Operand = 0) -> ElementValue:
    """Returns the sum over axes, added to `start`. Integer sums have 32 bits."""
    return _reduced("sum", "+", value, axes, to_value(start))


@checks_arguments_as("max")
def most_of(value: Operand, *axes: Axis) -> ElementValue:
    """Returns the maximum over axes."""
    return _reduced("most", "max", value, axes, None)


@checks_arguments_as("min")
def least_of(value: Operand, *axes: Axis) -> ElementValue:
    """Returns the minimum over axes."""
    return _reduced("least", "min", value, axes, None)


def _reduced(
    name: str, op: str, value: Operand, axes: tuple[Axis, ...], start: ElementValue | None
) -> ElementValue:
    inner = to_value(value)
    if not axes:
        raise misuse("a reduction needs axes", 'for example k = reduce_axis("k", 64)')
    names = [axis.name for axis in axes]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise misuse(f"a reduction has the axis {twice} twice", "give each axis its own name")
    if inner.reductions or (start is not None and start.reductions):
        raise misuse("a reduction cannot contain another one", "compute the inner one first")
    dtype = common_type(inner.dtype, DType.I32)
    if start is not None:
        _same_scale(start, inner)
    begin = start if start is not None else ElementValue(Const(_end_of(dtype, op)), dtype)
    local = Buffer(f"{name}#{next(_numbers)}", dtype, 1, Role.LOCAL)
    span = None if op == "+" else inner.span
    grown = GrowingLocal(local, op, begin, inner, axes)
    return ElementValue(load(local), dtype, (grown,), inner.scale, span)


def _end_of(dtype: DType, op: str) -> int | float:
    """Returns the start value of a running maximum or minimum."""
    if dtype is DType.F32:
        return float("-inf") if op == "max" else float("inf")
    low, high = dtype.limits
    return low if op == "max" else high


take_values(to_value)
