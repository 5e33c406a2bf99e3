"""The common tail of requantized layers: folded bias, constant tables, the store function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops.activation import Activation, integer_clamp
from aot.ops.binary_rescale import add_parameters
from aot.ops.conv2d_add import Conv2dAdd
from aot.ops.requant import INT32_MAX, Ints, quant_of, reduced_multiplier
from aot.ops.rounding import RequantRounding
from codegen.formats import RowFormat, storage_dtype
from codegen.isa.plain.arithmetic import StoredResult, sum_int8
from codegen.isa.plain.fitted_scale import FittedScales, SumRange, fitted, most_offset, store_fitted
from codegen.isa.plain.requantise import Requant, StoreQuantised, store_quantised
from codegen.isa.plain.scalar_math import ScalarMath
from codegen.kernels.kernel import Kernel, Site
from codegen.loops.affine import Affine
from codegen.loops.ir import (
    Apply,
    Buffer,
    BufferPlace,
    Expr,
    Invoke,
    Load,
    Proc,
    Role,
    ScalarFunction,
    Stmt,
    let,
    load,
    local,
    map_places,
    walk,
)

# Interleaves two tables of a kernel: the start of each channel's sum, and its scale.
#
# A core with few registers then needs one pointer instead of two, and both numbers share a line of flash.

START, SCALE, BOTH = "bias", "mult", "scaling"


def with_joined_tables(kernel: Kernel) -> Kernel:
    """Returns the kernel with one table for both, if its loops load them one by one; otherwise the kernel."""
    tables = {param.name: param for param in kernel.proc.params if param.name in (START, SCALE)}
    if len(tables) < 2 or len(kernel.procs) > 1 or kernel.calls is not None or kernel.row_tables:
        return kernel
    start, scale = tables[START], tables[SCALE]
    if not start.dtype is scale.dtype is DType.I32 or start.elements != scale.elements:
        return kernel
    if any(place.buffer.name in tables for place in _windows(kernel.proc)):
        return kernel
    both = Buffer(BOTH, DType.I32, 2 * start.elements, Role.CONSTANT)

    def joined(place: BufferPlace) -> BufferPlace:
        if place.buffer.name not in tables:
            return place
        return replace(place, buffer=both, index=place.index * 2 + (0 if place.buffer.name == START else 1))

    params = tuple(both if p.name == START else p for p in kernel.proc.params if p.name != SCALE)
    body = tuple(map_places(stmt, joined) for stmt in kernel.proc.body)
    numbers = np.stack((kernel.constants[START], kernel.constants[SCALE]), axis=1).reshape(-1)
    constants = {
        BOTH if name == START else name: data for name, data in kernel.constants.items() if name != SCALE
    }
    return replace(
        kernel,
        proc=replace(kernel.proc, params=params, body=body),
        constants={**constants, BOTH: numbers},
    )


def _windows(proc: Proc) -> Iterator[BufferPlace]:
    """Yields the operands of instructions."""
    for stmt in walk(proc.body):
        if isinstance(stmt, Invoke):
            yield from stmt.windows


# Replaces a layer's tail with scales fitted to its sums, if every channel has them.

_ROUNDINGS = (RequantRounding.DOUBLE, RequantRounding.SINGLE)


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


# Adds a row to a convolution's results as they are stored, so that the results need no memory.
#
# This pays if the tile's sums are in core registers, as with SMLAD: a quarter of the saved pass. On Helium, a
# separate pass over both rows needs no more instructions than the addition in a tile. On every core, the
# convolution's rows and the addend's rows must then be live together, which needs more memory.


@dataclass(frozen=True, slots=True)
class Addend:
    """A row whose elements are added to the results that a kernel stores."""

    row: Buffer
    first: int  # element of pixel 0, channel 0
    pixel_step: int
    channel_step: int
    added: ScalarFunction  # (result, element of the row) -> stored value

    def sum(self, stored: Expr, column: Affine, channel: Affine) -> Expr:
        element = column * self.pixel_step + channel * self.channel_step + self.first
        return Apply(self.added, (stored, load(self.row, element)))


def addend(site: Site, fmt: RowFormat, begin: int) -> Addend | None:
    """Returns the addend, whose row starts at pixel `begin`; None if the op adds nothing."""
    op, out = site.node.op, site.outputs[0]
    if not isinstance(op, Conv2dAdd):
        return None
    made, other = op.made(out), site.input(3)
    zero_points = (quant_of(made).zero_point, quant_of(other).zero_point)
    result = StoredResult(quant_of(out).zero_point, *integer_clamp(op.add.activation, out), site.math)
    return Addend(
        row=Buffer("b", storage_dtype(other, fmt), fmt.row_elements, Role.ROWS),
        first=(fmt.left + begin) * fmt.x_step,
        pixel_step=fmt.x_step,
        channel_step=fmt.c_step,
        added=sum_int8("+", add_parameters(made, other, out), zero_points, result),
    )


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
