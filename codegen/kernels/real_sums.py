"""Convolutions and dense layers on real numbers: sums of products, several channels at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aot.ir.graph import Array
from aot.ir.types import DType
from aot.ops.activation import Activation
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from codegen.formats import Want
from codegen.instr.real import clamp_real
from codegen.kernels.kernel import Accumulation, Kernel, OpKernel, RowAccess, Site
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Binary,
    Buffer,
    Const,
    Declare,
    Expr,
    For,
    Proc,
    Role,
    Store,
    at,
    load,
)
from codegen.loops.schedule import privatize, reorder, split, unroll
from codegen.model import RowFormat

_CHANNELS = 4  # sums in registers, so that each input is loaded once for all of them
_ONE_ROW = (RowAccess(stride=1, first=0, count=1),)
_REALS = frozenset({DType.F32})


@dataclass(frozen=True)
class _Window:
    """What a result's sum runs over, in loops r (rows), t (taps) and k."""

    rows: int
    taps: int
    length: int
    element: Affine  # of a row of x
    weight: Affine


def _x(x: RowFormat, rows: int = 1) -> Buffer:
    return Buffer("x", DType.F32, x.row_elements, Role.ROWS, rows)


def _y(y: RowFormat) -> Buffer:
    return Buffer("y", DType.F32, y.row_elements, Role.OUTPUT)


def _nest(name: str, xs: Buffer, ys: Buffer, site: Site, y: RowFormat, window: _Window) -> Proc:
    """for column: for o: y = clamp(bias + sum of x * w)"""
    w, bias = site.constants[1], site.constants.get(2)
    ws = Buffer("w", DType.F32, w.size, Role.CONSTANT)
    start = Buffer("bias", DType.F32, y.channels, Role.CONSTANT)
    total = Buffer("sum", DType.F32, 1, Role.LOCAL)
    column, o = variable("column"), variable("o")
    begin: Expr = Const(0.0) if bias is None else load(start, o)
    body = (
        Declare(total),
        Store(at(total), begin),
        _added(total, 0, xs, ws, window),
        Store(at(ys, (column + y.left) * y.x_step + o * y.c_step), _clamped(site, load(total))),
    )
    loops = For("column", y.width, (For("o", y.channels, body),))
    return Proc(name, (xs, ys, ws) if bias is None else (xs, ys, ws, start), (loops,))


def _added(total: Buffer, place: Affine | int, xs: Buffer, ws: Buffer, window: _Window) -> For:
    product = Binary("*", load(xs, window.element, variable("r")), load(ws, window.weight))
    inner = For("t", window.taps, (For("k", window.length, (Accumulate(at(total, place), product),)),))
    return For("r", window.rows, (inner,))


def _clamped(site: Site, value: Expr) -> Expr:
    op = site.node.op
    assert isinstance(op, Conv2d | Dense | DepthwiseConv2d)
    return value if op.activation is Activation.NONE else Apply(clamp_real(op.activation), (value,))


def _tiled(proc: Proc) -> Proc:
    """Several channels side by side in the innermost loop."""
    proc = split(proc, "o", _CHANNELS, "ob", "oi")
    proc = unroll(privatize(proc, ("sum",), "oi"), "oi")
    for inner in ("r", "t", "k"):
        proc = reorder(proc, "oi", inner)
    return proc


def _tables(site: Site) -> Mapping[str, Array]:
    bias = site.constants.get(2)
    tables = {"w": site.constants[1].reshape(-1)}
    return tables if bias is None else {**tables, "bias": bias}


def _padded(op: Conv2d | DepthwiseConv2d) -> tuple[Want | None, ...]:
    (top, bottom), (left, right) = op.padding
    return (Want(dtype_bytes=4, left=left, right=right, top=top, bottom=bottom),)


def _conv2d(site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    op, (x,), w = site.node.op, inputs, site.constants[1]
    assert isinstance(op, Conv2d)
    channels, rows, columns, depth = w.shape
    length = depth if op.dilation[1] > 1 else columns * depth
    taps, reach = columns * depth // length, rows * columns * depth
    pixel = variable("column") * op.stride[1] + variable("t") * op.dilation[1] + (x.left - op.padding[1][0])
    inside = variable("r") * (columns * depth) + variable("t") * length + variable("k")
    window = _Window(rows, taps, length, pixel * x.x_step + variable("k"), variable("o") * reach + inside)
    name = f"conv2d_{rows}x{columns}_{depth}_to_{channels}_by_{y.width}_reals"
    return Kernel(
        schedule="reals",
        why=f"{_CHANNELS} channels at a time",
        proc=_tiled(_nest(name, _x(x, rows), _y(y), site, y, window)),
        summary=f"One row of a convolution: {rows}x{columns}, {depth} -> {channels}, {y.width} pixels.",
        access=(RowAccess(op.stride[0], -op.padding[0][0], rows, op.dilation[0]),),
        constants=_tables(site),
    )


def _depthwise_conv2d(site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    op, (x,), w = site.node.op, inputs, site.constants[1]
    assert isinstance(op, DepthwiseConv2d)
    rows, columns, channels = w.shape
    xs, ys = _x(x, rows), _y(y)
    ws = Buffer("w", DType.F32, w.size, Role.CONSTANT)
    start = Buffer("bias", DType.F32, channels, Role.CONSTANT)
    total = Buffer("sum", DType.F32, 1, Role.LOCAL)
    column, c, t = variable("column"), variable("c"), variable("t")
    out = c * op.multiplier + variable("m")
    pixel = column * op.stride[1] + t * op.dilation[1] + (x.left - op.padding[1][0])
    weight = variable("r") * (columns * channels) + t * channels + out
    window = _Window(rows, columns, 1, pixel * x.x_step + c * x.c_step, weight)
    begin: Expr = Const(0.0) if site.constants.get(2) is None else load(start, out)
    body = (
        Declare(total),
        Store(at(total), begin),
        _added(total, 0, xs, ws, window),
        Store(at(ys, (column + y.left) * y.x_step + out * y.c_step), _clamped(site, load(total))),
    )
    loops = For("column", y.width, (For("c", x.channels, (For("m", op.multiplier, body),)),))
    params = (xs, ys, ws) if site.constants.get(2) is None else (xs, ys, ws, start)
    name = f"depthwise_conv2d_{rows}x{columns}_{channels}_by_{y.width}_reals"
    return Kernel(
        schedule="reals",
        why="the only one",
        proc=Proc(name, params, (loops,)),
        summary=f"One row of a depthwise convolution: {rows}x{columns}, {channels}, {y.width} pixels.",
        access=(RowAccess(op.stride[0], -op.padding[0][0], rows, op.dilation[0]),),
        constants=_tables(site),
    )


def _dense(site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    (x,), w = inputs, site.constants[1]
    outputs, depth = w.shape
    rows = depth // (x.width * x.channels)
    if rows > 1:
        return _dense_by_rows(site, x, y, rows)
    window = _Window(1, 1, depth, variable("k") + x.left * x.x_step, variable("o") * depth + variable("k"))
    name = f"dense_{depth}_to_{outputs}_reals"
    return Kernel(
        schedule="reals",
        why=f"{_CHANNELS} outputs at a time",
        proc=_tiled(_nest(name, _x(x), _y(y), site, y, window)),
        summary=f"A dense layer: {depth} -> {outputs}.",
        access=_ONE_ROW,
        constants=_tables(site),
    )


def _dense_by_rows(site: Site, x: RowFormat, y: RowFormat, rows: int) -> Kernel:
    """The image in front of the flattening need not exist: each of its rows adds its part to the sums."""
    w, bias = site.constants[1], site.constants.get(2)
    outputs, length = w.shape[0], w.shape[1] // rows
    parts = np.concatenate([part.reshape(-1) for part in np.split(w, rows, axis=1)])
    sums = Buffer("sums", DType.F32, outputs, Role.STATE)
    ws = Buffer("w", DType.F32, outputs * length, Role.CONSTANT)
    start = Buffer("bias", DType.F32, outputs, Role.CONSTANT)
    o, name = variable("o"), f"dense_{length}_to_{outputs}_reals"
    window = _Window(1, 1, length, variable("k") + x.left * x.x_step, o * length + variable("k"))
    begin: Expr = Const(0.0) if bias is None else load(start, o)
    first = For("o", outputs, (Store(at(sums, o), begin),))
    stored = Store(at(_y(y), o * y.c_step + y.left * y.x_step), _clamped(site, load(sums, o)))
    add = For("o", outputs, (_added(sums, o, _x(x), ws, window),))
    return Kernel(
        schedule="reals-by-rows",
        why=f"the {rows} rows of the image are added as they come",
        proc=Proc(f"{name}_add", (_x(x), sums, ws), (add,)),
        summary=f"One row of {length} of a dense layer of {w.shape[1]} -> {outputs}.",
        access=_ONE_ROW,
        constants={**_tables(site), "w": parts},
        row_tables={"w": outputs * length},
        accumulation=Accumulation(
            Proc(f"{name}_begin", (sums,) if bias is None else (sums, start), (first,)),
            Proc(f"{name}_finish", (sums, _y(y)), (For("o", outputs, (stored,)),)),
            outputs,
            rows,
            DType.F32,
        ),
    )


def _wants_padding(site: Site) -> tuple[Want | None, ...]:
    op = site.node.op
    assert isinstance(op, Conv2d | DepthwiseConv2d)
    return _padded(op)


def _wants_vector(site: Site) -> tuple[Want | None, ...]:
    return (Want(dtype_bytes=4),)


CONV2D = OpKernel(wants=_wants_padding, lower=_conv2d, dtypes=_REALS)
DEPTHWISE_CONV2D = OpKernel(wants=_wants_padding, lower=_depthwise_conv2d, dtypes=_REALS)
DENSE = OpKernel(wants=_wants_vector, lower=_dense, takes_rows=True, dtypes=_REALS)
