"""Tensors of an expression: placeholders, and tensors computed element by element."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from aot.ir.types import DType, dense_strides
from codegen.lang.index import Axis, Position, to_position
from codegen.lang.misuse import checks_arguments, misuse
from codegen.lang.operators import OF_TENSORS, WholeOperators, refuse_operators
from codegen.lang.quantized import QuantizedType, read_as, require_rounding, rounded_to
from codegen.lang.value import ElementValue, Operand, dtype_of, require_name, span_of, to_value
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Buffer,
    BufferPlace,
    Element,
    Role,
    Store,
    at,
    indices_of,
    load,
    map_expr_places,
)
from codegen.loops.ranges import type_range

_MOST_ELEMENTS = 2**31 - 1  # the limit of int32_t in C


@dataclass(frozen=True, eq=False)
class TensorExpression(WholeOperators["TensorExpression"]):
    """An array of known shape. Subscripts give an element."""

    name: str
    shape: tuple[int, ...]
    dtype: DType
    role: Role  # INPUT, CONSTANT, or SCRATCH if computed
    axes: tuple[Axis, ...] = ()  # if computed: one per axis of the shape
    value: ElementValue | None = None  # of an element
    body: Callable[..., Operand] | None = field(default=None, repr=False)
    reads: tuple[TensorExpression, ...] = ()  # tensors whose elements it loads from memory
    quant: QuantizedType | None = None
    is_stored: bool = False  # in memory, though its readers could compute it
    __array_ufunc__ = None  # a NumPy number on the left leaves the operator to the tensor

    @property
    def buffer(self) -> Buffer:
        return Buffer(self.name, self.dtype, math.prod(self.shape), self.role)

    @property
    def is_inlined(self) -> bool:
        """Returns True if readers compute its elements, because they need no reduction."""
        return self.value is not None and not self.value.reductions and not self.is_stored

    def __getitem__(self, key: Operand | tuple[Operand, ...]) -> ElementValue:
        indices = key if isinstance(key, tuple) else (key,)
        if len(indices) != len(self.shape):
            raise misuse(f"{self.name} has {len(self.shape)} axes, but {len(indices)} indices were given")
        if self.is_inlined and self.body is not None:
            return to_value(self.body(*indices))
        _reading.append(self)
        *outer, last = indices
        strides = dense_strides(self.shape)
        flat = Position(variable("_") * 0)
        for axis, (index, stride) in enumerate(zip(outer, strides, strict=False)):
            flat = flat + self._inside(axis, index) * stride
        if isinstance(last, ElementValue):
            self._require_within(last)
            looked_up = Element(at(self.buffer, flat.affine), last.expr)
            found = ElementValue(looked_up, self.dtype, last.reductions, span=span_of(self.dtype))
            return self._read(found)
        flat = flat + self._inside(len(outer), last)
        found = ElementValue(load(self.buffer, flat.affine), self.dtype, span=span_of(self.dtype))
        return self._read(found)

    def _read(self, stored: ElementValue) -> ElementValue:
        return stored if self.quant is None else read_as(stored, self.quant)

    def __add__(self, other: TensorExpression | Operand) -> TensorExpression:
        return _elementwise(self, other, "plus", lambda a, b: a + b)

    __radd__ = __add__

    def __sub__(self, other: TensorExpression | Operand) -> TensorExpression:
        return _elementwise(self, other, "minus", lambda a, b: a - b)

    def __rsub__(self, other: Operand) -> TensorExpression:
        return _elementwise(self, other, "from", lambda a, b: to_value(b) - a)

    def __neg__(self) -> TensorExpression:
        return self * -1

    def __mul__(self, other: TensorExpression | Operand) -> TensorExpression:
        return _elementwise(self, other, "times", lambda a, b: a * b)

    __rmul__ = __mul__

    def _by(self, op: str, other: Any) -> TensorExpression:
        return _elementwise(self, other, _WORDS[op], lambda a, b: a._by(op, b))

    def _under(self, op: str, other: Any) -> TensorExpression:
        return _elementwise(self, other, f"{_WORDS[op]}_of", lambda a, b: a._under(op, b))

    def _require_within(self, number: ElementValue) -> None:
        """Raises InputError if a computed index is always out of range."""
        if number.dtype is DType.F32:
            raise misuse(f"the computed index of {self.name} is a float", 'cast("i32", x) converts it')
        least, most = number.span or type_range(number.dtype)
        if least < 0 or most >= self.shape[-1]:
            raise misuse(
                f"a computed index of {self.name} ranges from {least:,} to {most:,}, but its last axis has "
                f"{self.shape[-1]} elements",
                f"clamp(n, 0, {self.shape[-1] - 1})",
            )

    def _inside(self, axis: int, index: Operand) -> Position:
        if isinstance(index, float):
            raise misuse(
                f"{index} is not a position along axis {axis} of {self.name}", "use an axis or a whole number"
            )
        if isinstance(index, ElementValue):
            raise misuse(
                f"axis {axis} of {self.name} has a computed index",
                "only the last axis can have one; index the others by a sum of axes times numbers",
            )
        place = to_position(index)
        if place.least < 0 or place.most >= self.shape[axis]:
            raise misuse(
                f"axis {axis} of {self.name} has {self.shape[axis]} elements, "
                f"but is read from {place.least} to {place.most}"
            )
        return place


# Names of integer operators in the names of tensors.
_WORDS = {
    "<<": "shifted_left",
    ">>": "shifted_right",
    "&": "and",
    "|": "or",
    "^": "xor",
    "//": "divided",
    "%": "rest",
    "~": "inverted",
}
refuse_operators(TensorExpression, "tensors", OF_TENSORS)


def _elementwise(
    one: TensorExpression,
    other: TensorExpression | Operand,
    word: str,
    combine: Callable[[ElementValue, Operand], ElementValue],
) -> TensorExpression:
    """Combines two tensors element by element; sizes of 1 are broadcast as in NumPy."""
    if not isinstance(other, TensorExpression):
        said = other if other is None else to_value(other)  # ~ has one operand
        return _computed(
            f"{one.name}_{word}", _plain_names(one.shape), one.shape, lambda *i: combine(one[i], said), None
        )
    try:
        shape = np.broadcast_shapes(one.shape, other.shape)
    except ValueError:
        raise misuse(
            f"{one.name} {list(one.shape)} and {other.name} {list(other.shape)} cannot be combined"
        ) from None

    def body(*indices: Position) -> ElementValue:
        return combine(one[_repeated(one.shape, indices)], other[_repeated(other.shape, indices)])

    return _computed(f"{one.name}_{word}_{other.name}", _plain_names(shape), shape, body, None)


def _plain_names(shape: Sequence[int]) -> list[str]:
    return [f"i{axis}" for axis in range(len(shape))]


def _repeated(shape: Sequence[int], indices: Sequence[Position]) -> tuple[Operand, ...]:
    last = indices[len(indices) - len(shape) :]
    return tuple(0 if size == 1 else index for size, index in zip(shape, last, strict=True))


_reading: list[TensorExpression] = []  # tensors whose elements were loaded since the last `compute`


@checks_arguments
def placeholder(
    name: str, shape: Sequence[int], dtype: str | QuantizedType, constant: bool = False
) -> TensorExpression:
    """Returns a tensor whose data is passed at run time or, if `constant`, at compile time."""
    sizes = sizes_of(name, shape)
    require_name(name, "a tensor")
    quant = dtype if isinstance(dtype, QuantizedType) else None
    kind = dtype_of(dtype.dtype if isinstance(dtype, QuantizedType) else dtype)
    return TensorExpression(name, sizes, kind, Role.CONSTANT if constant else Role.INPUT, quant=quant)


def sizes_of(name: str, shape: Sequence[int]) -> tuple[int, ...]:
    """Returns the checked sizes of a tensor."""
    if not shape or min(shape) < 1:
        raise misuse(f"{name} has the shape {list(shape)}: each size must be at least 1")
    if math.prod(shape) > _MOST_ELEMENTS:
        raise misuse(f"{name} has {math.prod(shape):,} elements, the limit is {_MOST_ELEMENTS:,}")
    return tuple(shape)


@checks_arguments
def reduce_axis(name: str, extent: int) -> Axis:
    """Returns an axis for sum, max and min."""
    return Axis(name, extent)


@checks_arguments
def compute(
    name: str,
    shape: Sequence[int],
    body: Callable[..., Operand],
    dtype: str | QuantizedType | None = None,
    stored: bool = False,
    rounding: str = "double",
) -> TensorExpression:
    """Returns a tensor whose elements `body` computes from their position. Its parameters name the loops.

        k = reduce_axis("k", 64)
        y = compute("y", (10,), lambda o: sum(x[k] * w[o, k], k))

    If no element needs a reduction, readers recompute it, unless `stored` puts it in memory. A value of
    quantized elements is an integer with a scale. A quantized `dtype` rounds it: `rounding` "double" as
    TensorFlow Lite Micro, "single" as LiteRT's dense layers.
    """
    shape = sizes_of(name, shape)
    require_name(name, "a tensor")
    require_rounding(rounding)
    names = _parameters(name, body)
    if len(names) != len(shape):
        raise misuse(f"{name} has {len(shape)} axes, but its body accepts {len(names)}")
    if not isinstance(dtype, QuantizedType):
        return replace(_computed(name, names, shape, body, dtype), is_stored=stored)
    quant = dtype

    def stored_element(*indices: Operand) -> ElementValue:
        return rounded_to(name, to_value(body(*indices)), quant, rounding)

    made = _computed(name, names, shape, stored_element, quant.dtype)
    return replace(made, is_stored=True, quant=quant)


def _parameters(name: str, body: Callable[..., Operand]) -> list[str]:
    """Returns the names of the required parameters of `body`, which name the loops."""
    try:
        taken = inspect.signature(body).parameters.values()
        return [each.name for each in taken if each.default is inspect.Parameter.empty]
    except ValueError:
        raise misuse(f"the body of {name} does not name its indices", "write lambda i, j: ...") from None


def _computed(
    name: str,
    axis_names: Sequence[str],
    shape: Sequence[int],
    body: Callable[..., Operand],
    dtype: str | None,
) -> TensorExpression:
    axes = tuple(Axis(var, extent) for var, extent in zip(axis_names, shape, strict=True))
    outer = _reading[:]
    _reading.clear()
    value = _named(to_value(body(*axes)))
    reads = tuple(dict.fromkeys(_reading))
    _reading[:] = outer
    _require_known_axes(name, value, axes)
    kind = value.dtype if dtype is None else dtype_of(dtype)
    return TensorExpression(name, tuple(shape), kind, Role.SCRATCH, axes, value, body, reads)


def _named(value: ElementValue) -> ElementValue:
    """Returns the value with readable names for its reductions: sum, sum2, most."""
    taken: dict[str, int] = {}
    names: dict[Buffer, Buffer] = {}
    for reduction in value.reductions:
        base = reduction.local.name.partition("#")[0]
        taken[base] = taken.get(base, 0) + 1
        name = base if taken[base] == 1 else f"{base}{taken[base]}"
        names[reduction.local] = replace(reduction.local, name=name)

    def named(place: BufferPlace) -> BufferPlace:
        return replace(place, buffer=names.get(place.buffer, place.buffer))

    reductions = tuple(replace(r, local=names[r.local]) for r in value.reductions)
    return ElementValue(map_expr_places(value.expr, named), value.dtype, reductions)


def _require_known_axes(name: str, value: ElementValue, axes: Sequence[Axis]) -> None:
    """Raises InputError if an axis is used outside of its reduction."""
    own = {axis.name for axis in axes}
    used = [(own, value.expr)]
    for reduction in value.reductions:
        inside = [axis.name for axis in reduction.axes]
        hidden = sorted(own & {*inside})
        if hidden:
            raise misuse(f"{name} already has an axis {hidden[0]}", "rename the axis of the reduction")
        used += [(own, reduction.start.expr), (own | {*inside}, reduction.value.expr)]
    for known, expr in used:
        body = (Store(at(Buffer(name, value.dtype, 1, Role.OUTPUT)), expr),)
        foreign = {var for _, affine in indices_of(body) for var in affine.variables} - known
        if foreign:
            raise misuse(
                f"{name} reads along {min(foreign)}, which is not an axis there",
                "reduce over it, or index by another",
            )
