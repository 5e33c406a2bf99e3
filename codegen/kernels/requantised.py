"""The tail of requantized layers: where each channel's sum starts, and how it becomes a stored result.

`requantised` returns the tail that follows the reference step by step, `fitted_tail` a shorter one with the
same results if it exists. Loop nests get a channel's constants from `channel_constants`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops.activation import integer_clamp
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.requant import INT32_MAX, Ints, conv_requant, quant_of, reduced_multiplier
from aot.ops.rounding import PARITY, RequantRounding
from codegen.isa.plain.fitted_scale import FittedScales, SumRange, fitted, most_offset, store_fitted
from codegen.isa.plain.requantise import Requant, StoreQuantised, store_quantised
from codegen.kernels.kernel import Site
from codegen.loops.affine import Affine
from codegen.loops.ir import Apply, Buffer, Expr, Load, Role, Stmt, let, load, local

_ROUNDINGS = (RequantRounding.DOUBLE, RequantRounding.SINGLE)
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


def requantised(
    site: Site,
    op: Conv2d | DepthwiseConv2d | Dense,
    weights: Array,
    out: TensorType,
    scales_in_single: bool = False,
) -> Requantised:
    """Returns the tail of a layer whose `weights` have the output channel as first axis."""
    x = site.input(0)
    start = folded_bias(weights, site.constants.get(2), quant_of(x).zero_point)
    largest = largest_sum(weights, start, -x.dtype.limits[0])
    multipliers, shifts = conv_requant(x, site.input(1), out, len(weights), scales_in_single)
    mult, right = multipliers.astype(np.int64), -shifts.astype(np.int64)
    if op.rounding is RequantRounding.REDUCED:
        mult = reduced_multiplier(mult)
    low, high = integer_clamp(op.activation, out)
    needs_64_bits = largest > INT32_MAX and op.rounding is not RequantRounding.DOUBLE
    requant = Requant(
        zero_point=quant_of(out).zero_point,
        low=low,
        high=high,
        rounding=op.rounding,
        rights=(int(right.min()), int(right.max())),
        sum_fits_30_bits=largest < 1 << 30,
        dtype=out.dtype,
        sum_dtype=DType.I64 if needs_64_bits else DType.I32,
        math=site.math,
        scaled_fits_16_bits=scaled_fits_16_bits(weights, start, x, mult, right),
        are_powers=op.rounding in PARITY and bool((mult == 1 << 30).all()),
    )
    scales: Mapping[str, Array] = {"mult": mult.astype(np.int32), "right": right.astype(np.int8)}
    storing = store_quantised(requant)
    if site.for_any_weights and storing.prepare is not None:
        terms = [storing.prepare.meaning(int(each)) for each in right]
        scales = {**scales, "term": np.array(terms, np.int32)}
        storing = replace(storing, is_prepared=True)
    return Requantised(
        bias=start.astype(requant.sum_dtype.numpy),
        scales=scales,
        requant=requant,
        storing=storing,
        sums_wrap=requant.sum_dtype is DType.I32 and largest > INT32_MAX,
        for_any_weights=site.for_any_weights,
    )


def scaled_fits_16_bits(weights: Array, start: Array, x_type: TensorType, mult: Array, right: Array) -> bool:
    """Returns whether all scaled results fit 16 bits, with any zero point added and not yet clamped."""
    flat = np.abs(weights.reshape(weights.shape[0], -1).astype(np.int64))
    largest = flat.sum(axis=1) * -x_type.dtype.limits[0] + np.abs(start)
    scaled = (largest * mult * np.exp2(-31.0 - right.astype(np.float64))).max()
    return bool(scaled < _LEAST_BEYOND_16_BITS)


def folded_bias(weights: Array, bias: Array | None, zero_point: int) -> Array:
    """Returns bias[o] - zero_point * sum(w[o]), which removes the input's zero point from the inner loop."""
    flat = weights.reshape(weights.shape[0], -1).astype(np.int64)
    start = np.zeros(len(flat), np.int64) if bias is None else bias.astype(np.int64)
    return np.asarray(start - zero_point * flat.sum(axis=1), np.int64)


def largest_sum(weights: Array, bias: Array, largest_input: int) -> int:
    """Returns a bound on |sum| at any time, for stored inputs; the bias includes the zero point."""
    flat = np.abs(weights.reshape(weights.shape[0], -1).astype(np.int64))
    return int((flat.sum(axis=1) * largest_input + np.abs(bias.astype(np.int64))).max())


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
    start = local("start", storing.sum_dtype)
    begin = let(start, load(bias, channel))
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
    shift = local("shift", DType.I32)
    tables: tuple[Buffer, ...] = (mult, other)
    if storing.is_prepared:
        term = Buffer("term", DType.I32, channels, Role.CONSTANT)
        values.append(("rounding", load(term, channel)))
        tables = (*tables, term)
    elif storing.prepare is not None:
        values.append(("rounding", Apply(storing.prepare, (load(shift),))))
    locals_ = tuple(local(name, DType.I32) for name, _ in values)
    loads = [s for b, (_, value) in zip(locals_, values, strict=True) for s in let(b, value)]
    scales = tuple(load(b) for b in locals_)
    return ChannelConstants(tables, locals_, tuple(loads), None, scales, storing)


def fitted_tail(tail: Requantised, weights: Array, x_dtype: DType, step: int = 1) -> Requantised:
    """Returns the tail for sums and bias enlarged by `step`, or the original tail if no scales fit."""
    r = tail.requant
    is_fit = r.dtype is DType.I8 and r.sum_dtype is DType.I32 and r.rounding in _ROUNDINGS
    if not is_fit or tail.sums_wrap or r.sign_matters:
        return tail
    least, greatest = _reach(weights, tail.bias.astype(np.int64), x_dtype)
    if step * max(int(-least.min()), int(greatest.max())) > INT32_MAX - most_offset(step):
        return tail
    scales = (tail.scales["mult"], tail.scales["right"], least, greatest)
    mult, right, low, high = (array.astype(np.int64).tobytes() for array in scales)
    addends = DType.I32 if tail.for_any_weights else DType.I16
    found = _found(r, mult, right, low, high, step, addends)
    if found is None:
        return tail
    return replace(
        tail,
        bias=(tail.bias.astype(np.int64) * step + found.offset).astype(np.int32),
        scales={"mult": found.mult.astype(np.int32), "addend": found.addend.astype(addends.numpy)},
        storing=store_fitted(r, found.shift, addends),
    )


def _reach(weights: Array, start: Ints, x_dtype: DType) -> tuple[Ints, Ints]:
    """Returns the least and greatest sum of each channel, for all stored inputs."""
    flat = weights.reshape(weights.shape[0], -1).astype(np.int64)
    low, high = x_dtype.limits
    least = np.minimum(flat * low, flat * high).sum(axis=1, dtype=np.int64)
    greatest = np.maximum(flat * low, flat * high).sum(axis=1, dtype=np.int64)
    return start + least, start + greatest


@lru_cache(maxsize=1024)
def _found(
    r: Requant, mult: bytes, right: bytes, least: bytes, greatest: bytes, step: int, addends: DType
) -> FittedScales | None:
    """Fits scales. Cached, because each variant of a plan lowers the same layer."""
    m, rights, low, high = (np.frombuffer(data, np.int64) for data in (mult, right, least, greatest))
    return fitted(r, m, rights, SumRange(low, high, step, addends), r.math.high_word_half)
