"""The common tail of requantized layers: folded bias, constant tables, the store function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops.activation import Activation, integer_clamp
from aot.ops.requant import INT32_MAX, quant_of, reduced_multiplier
from aot.ops.rounding import RequantRounding
from codegen.isa.plain.requantise import Requant, StoreQuantised, store_quantised
from codegen.isa.plain.scalar_math import ScalarMath
from codegen.loops.affine import Affine
from codegen.loops.ir import Apply, Buffer, Declare, Expr, Load, Role, Stmt, Store, at, load

_LEAST_BEYOND_16_BITS = (1 << 15) - 256  # smaller values fit with any zero point and rounding


@dataclass(frozen=True, slots=True)
class Requantised:
    """The tail of a layer: sums start at `bias`; `storing` stores them with their channel's constants."""

    bias: Array
    scales: Mapping[str, Array]  # each channel's constants other than the bias
    requant: Requant
    storing: StoreQuantised
    sums_wrap: bool  # whether sums may exceed 32 bits, in which the reference keeps them
    for_any_weights: bool = False  # the code must not depend on the values of the weights

    @property
    def tables(self) -> Mapping[str, Array]:
        return {"bias": self.bias, **self.scales}

    def tables_of(self, params: Sequence[Buffer]) -> Mapping[str, Array]:
        """Returns the tables that a kernel with these parameters reads."""
        wanted = {param.name for param in params}
        return {name: table for name, table in self.tables.items() if name in wanted}


@dataclass(frozen=True, slots=True)
class ChannelConstants:
    """A channel's constants, loaded into locals once for all its pixels."""

    tables: tuple[Buffer, ...]  # parameters of the proc
    locals: tuple[Buffer, ...]
    loads: tuple[Stmt, ...]
    start: Load | None  # start value of its sums
    _scales: tuple[Load, ...]
    _storing: StoreQuantised

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(b.name for b in self.locals)

    def stored(self, total: Expr) -> Apply:
        return Apply(self._storing.store, (total, *self._scales))


def channel_constants(storing: StoreQuantised, channels: int, channel: Affine) -> ChannelConstants:
    """Returns the constants for a nest that computes a channel's sums and stores them."""
    bias = Buffer("bias", storing.sum_dtype, channels, Role.CONSTANT)
    start = Buffer("start", storing.sum_dtype, 1, Role.LOCAL)
    begin = (Declare(start), Store(at(start), load(bias, channel)))
    c = scale_constants(storing, channels, channel)
    return replace(
        c, tables=(bias, *c.tables), locals=(start, *c.locals), loads=(*begin, *c.loads), start=load(start)
    )


def scale_constants(storing: StoreQuantised, channels: int, channel: Affine) -> ChannelConstants:
    """Returns the constants for a nest that stores existing sums."""
    mult = Buffer("mult", DType.I32, channels, Role.CONSTANT)
    second = ("addend", storing.addends, "rounding") if storing.is_fitted else ("right", DType.I8, "shift")
    other = Buffer(second[0], second[1], channels, Role.CONSTANT)
    values: list[tuple[str, Expr]] = [("scale", load(mult, channel)), (second[2], load(other, channel))]
    shift = Buffer("shift", DType.I32, 1, Role.LOCAL)
    tables: tuple[Buffer, ...] = (mult, other)
    if storing.is_prepared:
        term = Buffer("term", DType.I32, channels, Role.CONSTANT)
        values.append(("rounding", load(term, channel)))
        tables = (*tables, term)
    elif storing.prepare is not None:
        values.append(("rounding", Apply(storing.prepare, (load(shift),))))
    locals_ = tuple(Buffer(name, DType.I32, 1, Role.LOCAL) for name, _ in values)
    loads = [
        s for b, (_, value) in zip(locals_, values, strict=True) for s in (Declare(b), Store(at(b), value))
    ]
    scales = tuple(load(b) for b in locals_)
    return ChannelConstants(tables, locals_, tuple(loads), None, scales, storing)


def requantised(
    weights: Array,
    bias: Array | None,
    multipliers: tuple[Array, Array],
    x_type: TensorType,
    out_type: TensorType,
    activation: Activation,
    rounding: RequantRounding,
    math: ScalarMath,
    for_any_weights: bool = False,
) -> Requantised:
    """Returns the tail of a layer whose weights have the output channel as first axis."""
    start = folded_bias(weights, bias, quant_of(x_type).zero_point)
    largest = largest_sum(weights, start, -x_type.dtype.limits[0])
    sum_dtype = DType.I32 if largest <= INT32_MAX else DType.I64
    mult, shift = multipliers
    if rounding is RequantRounding.REDUCED:
        mult = reduced_multiplier(mult.astype(np.int64))
    right = -shift.astype(np.int64)
    low, high = integer_clamp(activation, out_type)
    requant = Requant(
        zero_point=quant_of(out_type).zero_point,
        low=low,
        high=high,
        rounding=rounding,
        rights=(int(right.min()), int(right.max())),
        sum_fits_30_bits=largest < 1 << 30,
        dtype=out_type.dtype,
        sum_dtype=DType.I32 if rounding is RequantRounding.DOUBLE else sum_dtype,
        math=math,
        scaled_fits_16_bits=_largest_scaled(weights, start, x_type, mult, right) < _LEAST_BEYOND_16_BITS,
    )
    start = start.astype(requant.sum_dtype.numpy)
    sums_wrap = requant.sum_dtype is DType.I32 and largest > INT32_MAX
    scales: Mapping[str, Array] = {"mult": mult.astype(np.int32), "right": right.astype(np.int8)}
    storing = store_quantised(requant)
    if for_any_weights and storing.prepare is not None:
        terms = [storing.prepare.meaning(int(each)) for each in right]
        scales = {**scales, "term": np.array(terms, np.int32)}
        storing = replace(storing, is_prepared=True)
    return Requantised(start, scales, requant, storing, sums_wrap, for_any_weights)


def _largest_scaled(weights: Array, start: Array, x_type: TensorType, mult: Array, right: Array) -> float:
    """Returns a bound on all scaled results, before the zero point is added and they are clamped."""
    flat = np.abs(weights.reshape(weights.shape[0], -1).astype(np.int64))
    largest = flat.sum(axis=1) * -x_type.dtype.limits[0] + np.abs(start)
    return float((largest * mult * np.exp2(-31.0 - right.astype(np.float64))).max())


def folded_bias(weights: Array, bias: Array | None, zero_point: int) -> Array:
    """Returns bias[o] - zero_point * sum(w[o]), which removes the input's zero point from the inner loop."""
    flat = weights.reshape(weights.shape[0], -1).astype(np.int64)
    start = np.zeros(len(flat), np.int64) if bias is None else bias.astype(np.int64)
    return np.asarray(start - zero_point * flat.sum(axis=1), np.int64)


def largest_sum(weights: Array, bias: Array, largest_input: int) -> int:
    """Returns a bound on |sum| at any time, for stored inputs; the bias includes the zero point."""
    flat = np.abs(weights.reshape(weights.shape[0], -1).astype(np.int64))
    return int((flat.sum(axis=1) * largest_input + np.abs(bias.astype(np.int64))).max())
