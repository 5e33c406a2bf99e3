"""Quantized types: integers that represent floats, and requantization of sums of products."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aot.ir.types import DType
from codegen.lang.misuse import checks_arguments, misuse
from codegen.lang.value import ElementValue, dtype_of
from codegen.loops.ir import Apply, Const

if TYPE_CHECKING:
    from aot.ops.rounding import RequantRounding

ROUNDINGS = ("double", "single")
_RESULTS = (DType.I8, DType.I16)  # types of rounded results
_MOST_FACTOR = 2**30  # upper limit for factors of 32-bit integers


@dataclass(frozen=True)
class QuantizedType:
    """The numbers scale * (stored - zero_point), stored as integers."""

    dtype: str
    scale: float
    zero_point: int


@checks_arguments
def quantized(dtype: str, scale: float, zero_point: int = 0) -> QuantizedType:
    """Returns a quantized type for placeholders and results. Results are rounded to it."""
    kind = dtype_of(dtype)
    if not kind.is_integer:
        raise misuse(f"{dtype} holds unquantized floats", "a quantized type needs integers")
    if not 0 < scale < math.inf:
        raise misuse(
            f"the scale must be finite and more than 0, not {scale}", "a scale is finite and more than 0"
        )
    low, high = kind.limits
    if not low <= zero_point <= high:
        raise misuse(f"{dtype} does not hold the zero point {zero_point}: it goes from {low} to {high}")
    return QuantizedType(dtype, scale, zero_point)


def read_as(stored: ElementValue, kind: QuantizedType) -> ElementValue:
    """Returns an element minus its zero point. Multiplied by the scale, it is the number."""
    zero = kind.zero_point
    value = stored - zero if zero > 0 else stored + -zero if zero else stored
    return replace(value, scale=kind.scale)


def require_rounding(word: str) -> None:
    if word not in ROUNDINGS:
        raise misuse(f'there is no rounding "{word}"', " or ".join(ROUNDINGS))


def rounded_to(name: str, value: ElementValue, kind: QuantizedType, rounding: str) -> ElementValue:
    """Returns the element that represents a value: nearest, and clamped to the type.

    "double" rounds twice, as TensorFlow Lite Micro does; "single" rounds once, as LiteRT's fully connected
    layers.
    """
    from aot.ops.requant import quantize_multiplier  # imported late: only quantized kernels need the ops
    from aot.ops.rounding import RequantRounding
    from codegen.isa.plain.requantise import Requant, store_quantised

    if value.scale is None:
        raise misuse(f"{name} is quantized, but its value has no scale", "compute it from quantized elements")
    dtype, factor = dtype_of(kind.dtype), value.scale / kind.scale
    if dtype not in _RESULTS:
        raise misuse(
            f"{name} is quantized as {kind.dtype}: results are {', '.join(each.value for each in _RESULTS)}"
        )
    if not factor < _MOST_FACTOR:
        raise misuse(
            f"a value of scale {value.scale:.6g} is {factor:.6g} times the scale {kind.scale:.6g} of {name}",
            f"the ratio must be less than {_MOST_FACTOR:,}",
        )
    mult, shift = quantize_multiplier(factor)
    low, high = dtype.limits
    way: RequantRounding = RequantRounding(rounding)
    requant = Requant(kind.zero_point, low, high, way, (-shift, -shift), False, dtype)
    store = store_quantised(requant).store
    return ElementValue(Apply(store, (value.expr, Const(mult), Const(-shift))), dtype, value.reductions)
