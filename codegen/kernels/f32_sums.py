"""Float convolutions and dense layers: sums of products, several channels at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from aot.ir.types import Array, DType
from aot.ops.activation import Activation
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense, weight_scales
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from codegen.formats import RowFormat, RowRequest
from codegen.isa.plain.f32 import FUSED, clamp_f32
from codegen.kernels.four_bit_blocks import IN_FOUR_BITS, SAVES_FLASH, blocks_of, bytes_saved
from codegen.kernels.kernel import Accumulation, Kernel, RowAccess, Site
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Binary,
    Buffer,
    Cast,
    Const,
    Expr,
    For,
    Load,
    Proc,
    Role,
    ScalarFunction,
    Stmt,
    Store,
    at,
    let,
    load,
    local,
)
from codegen.loops.schedule import privatize, reorder, split, unroll


def with_fused_sums(kernel: Kernel, added: ScalarFunction = FUSED) -> Kernel:
    """Returns the kernel with each sum of a product by a function of both factors and the sum.

    Call it after all scheduling, because strategies match sums.
    """
    return kernel.with_loops(
        lambda proc: replace(proc, body=tuple(_fused(stmt, added) for stmt in proc.body))
    )


def _fused(stmt: Stmt, added: ScalarFunction) -> Stmt:
    match stmt:
        case For(_, _, body):
            return replace(stmt, body=tuple(_fused(each, added) for each in body))
        case Accumulate(place, Binary("*", left, right)) if place.buffer.dtype is DType.F32:
            return Store(place, Apply(added, (left, right, Load(place))))
    return stmt


_CHANNELS = 4  # sums in registers, so that each input is loaded once for all of them
_ONE_ROW = (RowAccess(stride=1, first=0, count=1),)
_FLOATS = frozenset({DType.F32})


@dataclass(frozen=True)
class _SumWindow:
    """The window of a sum, in loops r (rows), t (taps) and k."""

    rows: int
    taps: int
    length: int
    element: Affine  # of a row of x
    weight: Affine


def _x(x: RowFormat, rows: int = 1) -> Buffer:
    return Buffer("x", DType.F32, x.row_elements, Role.ROWS, rows)


def _y(y: RowFormat) -> Buffer:
    return Buffer("y", DType.F32, y.row_elements, Role.OUTPUT)


def _nest(name: str, xs: Buffer, ys: Buffer, site: Site, y: RowFormat, window: _SumWindow) -> Proc:
    """Nests for column: for o: y = clamp(bias + sum of x * w)."""
    ws = Buffer("w", site.input(1).dtype, site.constants[1].size, Role.CONSTANT)
    total = local("sum", DType.F32)
    column, o = variable("column"), variable("o")
    ends = _ends(site, y.channels)
    body = (
        *let(total, ends.begin(o)),
        _added(total, xs, ws, window),
        Store(at(ys, (column + y.left) * y.x_step + o * y.c_step), ends.finish(load(total), o)),
    )
    loops = For("column", y.width, (For("o", y.channels, body),))
    return Proc(name, (xs, ys, ws, *ends.begin_tables, *ends.finish_tables), (loops,))


@dataclass(frozen=True)
class _SumEnds:
    """Defines the start value of a sum and its result. If there is a scale, the bias is added after it."""

    site: Site
    start: Buffer | None
    steps: Buffer | None

    @property
    def begin_tables(self) -> tuple[Buffer, ...]:
        return () if self.start is None or self.steps is not None else (self.start,)

    @property
    def finish_tables(self) -> tuple[Buffer, ...]:
        return () if self.steps is None else (self.steps, *(() if self.start is None else (self.start,)))

    def begin(self, o: Affine) -> Expr:
        return Const(0.0) if not self.begin_tables else load(self.begin_tables[0], o)

    def finish(self, total: Expr, o: Affine) -> Expr:
        if self.steps is not None:
            total = total * load(self.steps, o)
            total = total if self.start is None else total + load(self.start, o)
        return _clamped(self.site, total)


def _ends(site: Site, channels: int) -> _SumEnds:
    has_bias, has_steps = site.constants.get(2) is not None, site.input(1).dtype is DType.I8
    start = Buffer("bias", DType.F32, channels, Role.CONSTANT) if has_bias else None
    steps = Buffer("steps", DType.F32, channels, Role.CONSTANT) if has_steps else None
    return _SumEnds(site, start, steps)


def _added(total: Buffer, xs: Buffer, ws: Buffer, window: _SumWindow) -> For:
    weight: Expr = load(ws, window.weight)
    weight = weight if ws.dtype is DType.F32 else Cast(DType.F32, weight)
    product = load(xs, window.element, variable("r")) * weight
    inner = For("t", window.taps, (For("k", window.length, (Accumulate(at(total), product),)),))
    return For("r", window.rows, (inner,))


def _clamped(site: Site, value: Expr) -> Expr:
    op = site.node.op
    assert isinstance(op, Conv2d | Dense | DepthwiseConv2d)
    return value if op.activation is Activation.NONE else Apply(clamp_f32(op.activation), (value,))


def _tiled(proc: Proc, site: Site) -> Proc:
    """Computes several channels together in the innermost loop."""
    if site.is_plain:
        return proc
    proc = split(proc, "o", _CHANNELS, "ob", "oi")
    proc = unroll(privatize(proc, ("sum",), "oi"), "oi")
    for inner in ("r", "t", "k", "kb", "kk"):
        proc = reorder(proc, "oi", inner)
    return proc


def _tables(site: Site) -> Mapping[str, Array]:
    w, bias = site.constants[1], site.constants.get(2)
    tables: dict[str, Array] = {"w": w.reshape(-1)}
    if site.input(1).dtype is DType.I8:
        tables["steps"] = np.broadcast_to(weight_scales(site.input(1)), w.shape[:1]).astype(np.float32)
    return tables if bias is None else {**tables, "bias": bias}


def _padded(op: Conv2d | DepthwiseConv2d) -> tuple[RowRequest | None, ...]:
    (top, bottom), (left, right) = op.padding
    return (RowRequest(dtype_bytes=4, left=left, right=right, top=top, bottom=bottom),)


def conv2d_rows(site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    """Computes a row without a schedule."""
    op, (x,), w = site.op_as(Conv2d), inputs, site.constants[1]
    channels, rows, columns, depth = w.shape
    length = depth if op.dilation[1] > 1 else columns * depth
    taps, reach = columns * depth // length, rows * columns * depth
    pixel = variable("column") * op.stride[1] + variable("t") * op.dilation[1] + (x.left - op.padding[1][0])
    inside = variable("r") * (columns * depth) + variable("t") * length + variable("k")
    window = _SumWindow(rows, taps, length, pixel * x.x_step + variable("k"), variable("o") * reach + inside)
    name = f"conv2d_{rows}x{columns}_{depth}_to_{channels}_by_{y.width}_reals"
    return Kernel(
        strategy="reals",
        why="one result at a time",
        proc=_nest(name, _x(x, rows), _y(y), site, y, window),
        summary=f"One row of a convolution: {rows}x{columns}, {depth} -> {channels}, {y.width} pixels.",
        access=(RowAccess(op.stride[0], -op.padding[0][0], rows, op.dilation[0]),),
        constants=_tables(site),
    )


def _conv2d(site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    kernel = conv2d_rows(site, inputs, y)
    why = kernel.why if site.is_plain else f"{_CHANNELS} channels at a time"
    return replace(kernel, proc=_tiled(kernel.proc, site), why=why)


def _depthwise_conv2d(site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    return depthwise_rows(site, inputs, y, ("column", "c", "m"))


def depthwise_rows(
    site: Site, inputs: Sequence[RowFormat], y: RowFormat, order: tuple[str, str, str]
) -> Kernel:
    """Computes a row with the loops over pixels, channels and filters in the given order."""
    op, (x,), w = site.op_as(DepthwiseConv2d), inputs, site.constants[1]
    rows, columns, channels = w.shape
    xs, ys = _x(x, rows), _y(y)
    ws = Buffer("w", DType.F32, w.size, Role.CONSTANT)
    start = Buffer("bias", DType.F32, channels, Role.CONSTANT)
    total = local("sum", DType.F32)
    column, c, t = variable("column"), variable("c"), variable("t")
    out = c * op.multiplier + variable("m")
    pixel = column * op.stride[1] + t * op.dilation[1] + (x.left - op.padding[1][0])
    weight = variable("r") * (columns * channels) + t * channels + out
    window = _SumWindow(rows, columns, 1, pixel * x.x_step + c * x.c_step, weight)
    begin: Expr = Const(0.0) if site.constants.get(2) is None else load(start, out)
    body: tuple[Stmt, ...] = (
        *let(total, begin),
        _added(total, xs, ws, window),
        Store(at(ys, (column + y.left) * y.x_step + out * y.c_step), _clamped(site, load(total))),
    )
    extents = {"column": y.width, "c": x.channels, "m": op.multiplier}
    for var in reversed(order):
        body = (For(var, extents[var], body),)
    params = (xs, ys, ws) if site.constants.get(2) is None else (xs, ys, ws, start)
    name = f"depthwise_conv2d_{rows}x{columns}_{channels}_by_{y.width}_reals"
    return Kernel(
        strategy="reals",
        why="its only strategy",
        proc=Proc(name, params, body),
        summary=f"One row of a depthwise convolution: {rows}x{columns}, {channels}, {y.width} pixels.",
        access=(RowAccess(op.stride[0], -op.padding[0][0], rows, op.dilation[0]),),
        constants=_tables(site),
    )


def _dense(site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    kernel = dense_rows(site, inputs, y)
    if site.is_plain:
        return kernel
    why = f"{_CHANNELS} outputs at a time"
    if kernel.accumulation is not None:
        why = f"{kernel.why}, {why}"
    return replace(kernel, proc=_tiled(kernel.proc, site), why=why)


def dense_rows(site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    """Computes a vector, or adds a row of the flattened image, without a schedule."""
    (x,), w = inputs, site.constants[1]
    outputs, depth = w.shape
    rows = depth // (x.width * x.channels)
    if rows > 1:
        return _dense_by_rows(site, x, y, rows)
    window = _SumWindow(1, 1, depth, variable("k") + x.left * x.x_step, variable("o") * depth + variable("k"))
    name = _dense_name(site, depth)
    return Kernel(
        strategy="reals",
        why="one output at a time",
        proc=_nest(name, _x(x), _y(y), site, y, window),
        summary=f"A dense layer: {depth} -> {outputs}.",
        access=_ONE_ROW,
        constants=_tables(site),
        extra_bytes=bytes_saved(site),
    )


def _dense_in_four_bits(site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    """Computes each weight from 4 bits and the step of its block, in the loop that needs it."""
    (x,), (outputs, depth), blocks = inputs, site.constants[1].shape, blocks_of(site)
    assert blocks is not None
    xs, ys, total, o = _x(x), _y(y), local("sum", DType.F32), variable("o")
    ends = _ends(site, y.channels)
    first = variable("kb") * blocks.block + variable("kk") * 2 + x.left * x.x_step
    added = tuple(
        Accumulate(at(total), load(xs, first + place) * weight)
        for place, weight in enumerate(blocks.weights(o, depth))
    )
    body = (
        *let(total, ends.begin(o)),
        For("kb", depth // blocks.block, (For("kk", blocks.block // 2, added),)),
        Store(at(ys, o * y.c_step + y.left * y.x_step), ends.finish(load(total), o)),
    )
    params = (xs, ys, *blocks.params(), *ends.begin_tables)
    proc = Proc(f"dense_{depth}_to_{outputs}_four_bits", params, (For("o", y.channels, body),))
    return Kernel(
        strategy="four-bit-blocks",
        why=f"weights of 4 bits, a step for each {blocks.block}",
        proc=_tiled(proc, site),
        summary=f"A dense layer: {depth} -> {outputs}.",
        access=_ONE_ROW,
        constants={**_tables(site), **blocks.tables},
    )


def _dense_name(site: Site, depth: int) -> str:
    kind = "steps" if site.input(1).dtype is DType.I8 else "reals"
    return f"dense_{depth}_to_{site.constants[1].shape[0]}_{kind}"


def _dense_by_rows(site: Site, x: RowFormat, y: RowFormat, rows: int) -> Kernel:
    """Accumulates row by row, so that the flattened image need not exist as a whole."""
    w, ends = site.constants[1], _ends(site, site.constants[1].shape[0])
    outputs, length = w.shape[0], w.shape[1] // rows
    parts = np.concatenate([part.reshape(-1) for part in np.split(w, rows, axis=1)])
    sums = Buffer("sums", DType.F32, outputs, Role.STATE)
    ws = Buffer("w", site.input(1).dtype, outputs * length, Role.CONSTANT)
    o, name = variable("o"), _dense_name(site, length)
    window = _SumWindow(1, 1, length, variable("k") + x.left * x.x_step, o * length + variable("k"))
    first = For("o", outputs, (Store(at(sums, o), ends.begin(o)),))
    stored = Store(at(_y(y), o * y.c_step + y.left * y.x_step), ends.finish(load(sums, o), o))
    total = local("sum", DType.F32)
    grow = (
        *let(total, load(sums, o)),
        _added(total, _x(x), ws, window),
        Store(at(sums, o), load(total)),
    )
    add = For("o", outputs, grow)
    return Kernel(
        strategy="reals-by-rows",
        why=f"the {rows} rows of the image are added as they arrive",
        proc=Proc(f"{name}_add", (_x(x), sums, ws), (add,)),
        summary=f"One row of {length} of a dense layer of {w.shape[1]} -> {outputs}.",
        access=_ONE_ROW,
        constants={**_tables(site), "w": parts},
        row_tables={"w": outputs * length},
        extra_bytes=bytes_saved(site),
        accumulation=Accumulation(
            Proc(f"{name}_begin", (sums, *ends.begin_tables), (first,)),
            Proc(f"{name}_finish", (sums, _y(y), *ends.finish_tables), (For("o", outputs, (stored,)),)),
            outputs,
            rows,
            DType.F32,
        ),
    )


def requests_padding(site: Site) -> tuple[RowRequest | None, ...]:
    op = site.node.op
    assert isinstance(op, Conv2d | DepthwiseConv2d)
    return _padded(op)


def requests_vector(site: Site) -> tuple[RowRequest | None, ...]:
    return (RowRequest(dtype_bytes=4),)


CONV2D = OpKernel((Strategy("f32", requests_padding, _conv2d),), _FLOATS)
DEPTHWISE_CONV2D = OpKernel((Strategy("f32", requests_padding, _depthwise_conv2d),), _FLOATS)
DENSE = OpKernel(
    (
        Strategy("four-bit-blocks", requests_vector, _dense_in_four_bits, fits=(SAVES_FLASH, IN_FOUR_BITS)),
        Strategy("f32", requests_vector, _dense, reads_image_rows=lambda site: True),
    ),
    _FLOATS,
)
