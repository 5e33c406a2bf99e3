"""depthwise_conv2d on Helium: interleaves rows of planes, then computes every output by one vector product.

for blocks of channels:
    interleave their pixels of the kernel's rows
    for channels: one row of outputs, requantized eight at a time
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from aot.ir.types import Array, DType
from aot.ops.op import required
from aot.target import Optimize
from codegen.formats import ElementOrder, RowFormat, RowRequest
from codegen.isa.helium import ANY_WORDS
from codegen.isa.helium.depthwise import (
    CHUNK,
    COLUMNS,
    PIXEL,
    READ_AHEAD,
    InterleavedRows,
    depthwise_rows,
    interleave,
    interleaved_elements,
)
from codegen.isa.helium.depthwise_fours import depthwise_fours
from codegen.isa.helium.four_bits import DIGITS, WeightForm, form_of, in_bytes
from codegen.isa.helium.requantise import in_vector, load_channels
from codegen.isa.plain.requantise import exact_store
from codegen.kernels.depthwise_conv2d import (
    ONE_FILTER_EACH,
    DepthwiseRows,
    depthwise_kernel,
    filters_of,
    op_of,
    tail_of,
)
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.requantised import ChannelConstants, Requantised, channel_constants
from codegen.kernels.strategy import BYTES, Condition, RowRequests, Strategy
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Accumulate,
    Binary,
    Body,
    Buffer,
    BufferPlace,
    Const,
    Declare,
    For,
    Invoke,
    Proc,
    Role,
    Stmt,
    Store,
    at,
    load,
)
from codegen.loops.schedule import privatize
from codegen.loops.tensorize import tensorize

_PIXELS = 256  # interleaved at a time, on the stack
_QUAD = 4  # channels whose outputs are requantized together


def _is_small(site: Site) -> bool:
    rows, columns, _ = site.constants[1].shape
    return rows <= PIXEL and columns <= COLUMNS and op_of(site).dilation[1] == 1


def _has_four_bits(site: Site) -> bool:
    """Returns True if a byte has the weights of two channels."""
    is_possible = tail_of(site).requant.fits_lanes and not site.for_any_weights
    return is_possible and form_of(filters_of(site)).is_four_bits


def _is_padded(site: Site) -> bool:
    """Returns True if weights may be padded, which enlarges code and weights but permits vector loads."""
    if _has_four_bits(site):
        return True
    return site.optimize is not Optimize.SIZE and tail_of(site).requant.fits_lanes


def _requests(site: Site) -> RowRequests:
    (top, bottom), (left, right) = op_of(site).padding
    return (RowRequest(ElementOrder.PLANES, 1, left, right, top, bottom, slack=CHUNK - 1),)


def _packed_weights(w: Array, padded: bool, four_bits: bool) -> Array:
    """Packs weights as [channel][column][row], so that a padded column is one 32-bit word."""
    columns = w.transpose(2, 1, 0)
    if padded:
        columns = np.pad(columns, ((0, 0), (0, 0), (0, PIXEL - w.shape[0])))
    if four_bits:
        columns = in_bytes(WeightForm.NIBBLES, columns)
    return np.append(columns.reshape(-1), np.zeros(READ_AHEAD, np.int8))


@dataclass(frozen=True)
class _Shape:
    """A window, a row of results, and the positions of their elements."""

    rows: int
    columns: int
    stride: int
    channels: int
    x: RowFormat
    y: RowFormat
    first: int  # first pixel of output 0's window in a plane
    is_padded: bool  # the weights
    form: WeightForm
    is_small: bool  # the code

    @property
    def weight_rows(self) -> int:
        return PIXEL if self.is_padded else self.rows

    def tile(self, channels: int) -> InterleavedRows:
        return InterleavedRows(
            channels=channels,
            rows=self.rows,
            columns=self.columns,
            stride=self.stride,
            outputs=self.y.width,
            pitch=self.x.c_step,
            y_step=self.y.x_step,
            y_channel_step=self.y.c_step,
            is_general=self.is_small,
            is_padded=self.is_padded,
            form=self.form,
        )

    @property
    def extent(self) -> int:
        return (self.y.width - 1) * self.stride + self.columns

    def pixels(self, channels: int) -> int:
        """Returns the pixels from the first channel's first window to the end of the last channel's."""
        return (channels - 1) * self.x.c_step + self.extent


def _proc(site: Site, x: RowFormat, y: RowFormat, tail: Requantised) -> Proc:
    op, (rows, columns, channels) = op_of(site), site.constants[1].shape
    small, first = site.optimize is Optimize.SIZE, x.left - op.padding[1][0]
    padded = _is_padded(site)
    form = WeightForm.NIBBLES if _has_four_bits(site) else WeightForm.BYTES
    shape = _Shape(rows, columns, op.stride[1], channels, x, y, first, padded, form, small)
    per_block = _channels_per_block(shape)
    whole, rest = divmod(channels, per_block)
    proc = _nest(shape, tail, per_block)
    blocks = [n for n in (per_block if whole else 0, rest) if n]
    proc = tensorize(proc, "pixel", [interleave(rows, shape.pixels(n)) for n in blocks])
    if not tail.requant.fits_lanes:
        return proc
    if form.is_four_bits:
        return proc
    proc = privatize(proc, ("start", "scale", "shift"), "j")
    counts = sorted({min(_QUAD, channels), *(n % _QUAD for n in blocks)} - {0})
    loads = [load_channels(n, dtype) for n in counts for dtype in (DType.I32, DType.I8)]
    tiles = [shape.tile(n) for n in counts]
    fours = {n // _QUAD for n in blocks} - {0}
    if fours and not small:
        tile = replace(tiles[-1], channels=_QUAD)
        of_fours = [depthwise_fours(tile, n, tail.requant) for n in sorted(fours)]
        proc = tensorize(proc, "four", of_fours)
    if channels % _QUAD == 0 and not small:
        return proc
    return tensorize(proc, "j", [*loads, *(depthwise_rows(t, tail.requant) for t in tiles)])


def _channels_per_block(shape: _Shape) -> int:
    """Returns the channels of a block: as many fours as fit, so that few channels remain."""
    fitting = max(0, _PIXELS - shape.extent) // shape.x.c_step + 1
    return min(shape.channels, max(_QUAD, fitting // _QUAD * _QUAD))


def _nest(shape: _Shape, tail: Requantised, per_block: int) -> Proc:
    whole, rest = divmod(shape.channels, per_block)
    body: tuple[Stmt, ...] = ()
    if whole:
        body += (For("block", whole, _block(shape, tail, variable("block") * per_block, per_block)),)
    if rest:
        body += (For("last", 1, _block(shape, tail, variable("last") + whole * per_block, rest)),)
    name = f"depthwise_conv2d_{shape.rows}x{shape.columns}_{shape.channels}_by_{shape.y.width}"
    tables = _constants(shape, tail, variable("block")).tables
    return Proc(name, (_input(shape), _output(shape), _weights(shape), *tables), body)


def _input(shape: _Shape) -> Buffer:
    return Buffer("x", DType.I8, shape.x.row_elements, Role.ROWS, shape.rows)


def _output(shape: _Shape) -> Buffer:
    return Buffer("y", DType.I8, shape.y.row_elements, Role.OUTPUT)


def _weights(shape: _Shape) -> Buffer:
    vectors = shape.form.vectors(shape.channels)
    return Buffer("w", DType.I8, vectors * shape.columns * shape.weight_rows + READ_AHEAD, Role.CONSTANT)


def _constants(shape: _Shape, tail: Requantised, channel: Affine) -> ChannelConstants:
    return channel_constants(exact_store(tail.requant), shape.channels, channel)


def _block(shape: _Shape, tail: Requantised, channel: Affine, count: int) -> tuple[Stmt, ...]:
    """Interleaves the pixels of some channels, then computes their outputs in fours."""
    pixels = shape.pixels(count)
    lines = Buffer("lines", DType.I8, interleaved_elements(pixels), Role.LOCAL)
    begin = channel * shape.x.c_step + shape.first
    fours, rest = divmod(count, _QUAD)

    def quad(first: Affine, size: int) -> tuple[Stmt, ...]:
        within = first + variable("j")
        return (For("j", size, _channel(shape, tail, channel + within, within, lines)),)

    body: tuple[Stmt, ...] = (Declare(lines), _interleaved(lines, _input(shape), begin, pixels, shape.rows))
    if shape.form.is_four_bits:
        return body + _block_of_four_bits(shape, tail, channel, count, lines)
    if fours:
        body += (For("four", fours, quad(variable("four") * _QUAD, _QUAD)),)
    if rest:
        body += (For("left", 1, quad(variable("left") + fours * _QUAD, rest)),)
    return body


def _channel(
    shape: _Shape, tail: Requantised, channel: Affine, within: Affine, lines: Buffer
) -> tuple[Stmt, ...]:
    constants = _constants(shape, tail, channel)
    total = Buffer("sum", DType.I32, 1, Role.LOCAL)
    column, t, r = variable("column"), variable("t"), variable("r")
    pixel = within * shape.x.c_step + column * shape.stride + t
    weight = (channel * shape.columns + t) * shape.weight_rows + r
    product = Binary("*", load(lines, pixel * PIXEL + r), load(_weights(shape), weight))
    place = (column + shape.y.left) * shape.y.x_step + channel * shape.y.c_step
    body = (
        Declare(total),
        Store(at(total), Const(0)),
        For("t", shape.columns, (For("r", shape.rows, (Accumulate(at(total), product),)),)),
        Store(
            at(_output(shape), place), constants.stored(Binary("+", load(total), required(constants.start)))
        ),
    )
    return (*constants.loads, For("column", shape.y.width, body))


def _block_of_four_bits(shape: _Shape, tail: Requantised, channel: Affine, count: int, lines: Buffer) -> Body:
    """Computes the outputs of channels whose weights share bytes.

    All fours are one instruction; for small code, there is one per four.
    """
    y, w, tables = _output(shape), _weights(shape), _constants(shape, tail, Affine()).tables
    fours, rest = divmod(count, _QUAD)

    def places(first: Affine) -> tuple[BufferPlace, ...]:
        pixel = (channel + first) * shape.y.c_step + shape.y.left * shape.y.x_step
        weight = (channel + first) * (shape.columns * PIXEL // DIGITS)
        return (at(y, pixel), at(lines, first * (shape.x.c_step * PIXEL)), at(w, weight))

    def quad(first: Affine, size: int) -> Body:
        lanes = [in_vector(name, size) for name in ("start", "scale", "shift")]
        loads = [
            Invoke(load_channels(size, table.dtype), (at(lane), at(table, channel + first)))
            for lane, table in zip(lanes, tables, strict=True)
        ]
        row = depthwise_rows(shape.tile(size), tail.requant)
        return (*map(Declare, lanes), *loads, Invoke(row, (*places(first), *map(at, lanes))))

    body: Body = ()
    if fours and not shape.is_small:
        constants = (at(table, channel) for table in tables)
        every = depthwise_fours(shape.tile(_QUAD), fours, tail.requant)
        body += (Invoke(every, (*places(Affine()), *constants)),)
    elif fours:
        body += (For("four", fours, quad(variable("four") * _QUAD, _QUAD)),)
    if rest:
        body += (For("left", 1, quad(variable("left") + fours * _QUAD, rest)),)
    return body


def _interleaved(lines: Buffer, x: Buffer, begin: Affine, pixels: int, rows: int) -> For:
    i, r = variable("pixel"), variable("r")
    body: tuple[Stmt, ...] = (For("r", rows, (Store(at(lines, i * PIXEL + r), load(x, begin + i, r)),)),)
    if rows < PIXEL:
        body += (For("r", PIXEL - rows, (Store(at(lines, i * PIXEL + r + rows), Const(0)),)),)
    return For("pixel", pixels, body)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    tail, four_bits = tail_of(site), _has_four_bits(site)
    proc = _proc(site, inputs[0], output, tail)
    weights = _packed_weights(site.constants[1], _is_padded(site), four_bits)
    why = "rows of planes interleaved, a window in one vector"
    why += ", weights of four bits" if four_bits else ""
    return depthwise_kernel(site, output, tail, DepthwiseRows("helium", why, proc, weights))


STRATEGY = Strategy(
    "helium",
    _requests,
    _lower,
    ANY_WORDS,
    (
        BYTES,
        Condition("windows of up to 4x4 neighbors", _is_small),
        # Interleaving rows of one result costs more than it saves.
        Condition("rows of several results", lambda site: site.outputs[0].shape[2] > 1),
        ONE_FILTER_EACH,
    ),
)
