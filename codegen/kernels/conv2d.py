"""conv2d: one output row as dot products over pointers to input rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from aot.ir.graph import Array
from aot.ir.types import DType, TensorType
from aot.ops.conv2d import Conv2d
from aot.ops.requant import conv_requant, quant_of
from codegen.formats import Want, storage_dtype
from codegen.kernels.dot_product import (
    GROUP,
    DotProblem,
    Edge,
    Tile,
    dsp_space,
    plain_space,
    schedule_dsp,
    schedule_plain,
)
from codegen.kernels.dot_product_mve import schedule_mve
from codegen.kernels.edges import Columns, bias_inside, columns_of, whole_first
from codegen.kernels.kernel import Kernel, OpKernel, RowAccess, Site
from codegen.kernels.knobs import Point, Space
from codegen.kernels.requantised import Requantised, requantised
from codegen.kernels.residual import Addend, addend
from codegen.model import RowFormat


def _op(site: Site) -> Conv2d:
    assert isinstance(site.node.op, Conv2d)
    return site.node.op


def _wants(site: Site) -> tuple[Want | None, ...]:
    """Rows of pixels with the padding inside; 16 bits wide where SMLAD reads them and memory allows."""
    op = _op(site)
    (top, bottom), (left, right) = op.padding
    if _columns(site):
        left = right = 0
    smlad = _is_smlad(site)
    widened = site.input(0).dtype is DType.I16 or (smlad and site.wide)
    return (
        Want(
            dtype_bytes=2 if widened else 1,
            left=left,
            right=right,
            top=top,
            bottom=bottom,
            slack=-_tap_length(op, site.constants[1]) % GROUP if smlad else 0,
        ),
    )


def _is_smlad(site: Site) -> bool:
    return site.dsp and not (site.mve and site.are_bytes)


def _columns(site: Site) -> tuple[Columns, ...]:
    """For rows without margins: those with the whole window first. Weights are packed in fours."""
    op, (_, _, taps, depth) = _op(site), site.constants[1].shape
    (left, right), x, y = op.padding[1], site.input(0), site.outputs[0]
    is_possible = depth % GROUP == 0 if _is_smlad(site) else not site.mve
    if not (site.bare and is_possible and (left or right)):
        return ()
    columns = columns_of(x.shape[2], y.shape[2], taps, op.stride[1], op.dilation[1], left)
    return whole_first(columns, taps)


def _tap_length(op: Conv2d, w: Array) -> int:
    """Contiguous elements under the kernel: a whole kernel row, or a pixel where columns are dilated."""
    columns = 1 if op.dilation[1] > 1 else w.shape[2]
    return int(columns * w.shape[3])


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op, x, w = _op(site), site.input(0), site.constants[1]
    tail = _requantised(site, w)
    problem = _problem(site, inputs, output, tail)
    space: Space | None = None
    point: Point = {}
    if site.mve and site.are_bytes:
        scheduled = schedule_mve(problem, tail.requant, site.optimize)
        schedule, why = "helium", "2 x 4 sums per tile, 8-bit rows in place"
    elif site.dsp and problem.sum_dtype is DType.I32:
        space = dsp_space(problem, site.optimize, site.macs)
        point = space.chosen(site.tuned)
        scheduled = schedule_dsp(problem, Tile(**point), site.optimize)
        why = f"{point['pixels']} x {point['channels']} sums per tile, {inputs[0].dtype_bytes * 8}-bit rows"
        schedule = "smlad"
    else:
        space = plain_space(problem, Tile(2, 2))
        point = space.chosen(site.tuned)
        scheduled = schedule_plain(problem, Tile(**point))
        schedule, why = "plain", f"{point['pixels']} x {point['channels']} sums per tile"
    window = RowAccess(op.stride[0], -op.padding[0][0], w.shape[1], op.dilation[0])
    accesses = (window, RowAccess(stride=1, first=0, count=1))
    return Kernel(
        schedule=schedule,
        why=why,
        proc=scheduled.proc,
        summary=_summary(op, x, w, site.outputs[0], problem.addend is not None),
        access=accesses[: len(problem.rows_read)],
        constants={"w": scheduled.stored(w), **tail.tables, **_edge_tables(site, tail.bias)},
        space=space,
        point=point,
    )


def _edge_tables(site: Site, bias: Array) -> Mapping[str, Array]:
    """Where the sums of each kind of edge column begin."""
    w, zero_point = site.constants[1], quant_of(site.input(0)).zero_point
    edges = _columns(site)[1:]
    return {f"bias_{n}": bias_inside(bias, w, each.taps, zero_point) for n, each in enumerate(edges)}


def _requantised(site: Site, w: Array) -> Requantised:
    op, x, out = _op(site), site.input(0), site.outputs[0]
    multipliers = conv_requant(x, site.input(1), out, w.shape[0])
    bias = site.constants.get(2)
    return requantised(w, bias, multipliers, x, out, op.activation, op.rounding, site.dsp)


def _problem(site: Site, inputs: Sequence[RowFormat], y: RowFormat, tail: Requantised) -> DotProblem:
    op, w, x = _op(site), site.constants[1], inputs[0]
    columns = _columns(site) or (Columns(0, y.width, range(w.shape[2])),)
    begin = columns[0].first
    row = _addend(site, inputs, begin)
    channels, kernel_rows, kernel_columns, depth = w.shape
    left = op.padding[1][0]
    length = _tap_length(op, w)
    added = "" if row is None else "_added"
    return DotProblem(
        name=f"conv2d_{kernel_rows}x{kernel_columns}_{depth}_to_{channels}_by_{y.width}{added}",
        pixels=columns[0].count,
        channels=channels,
        kernel_rows=kernel_rows,
        taps=kernel_columns * depth // length,
        tap_step=op.dilation[1] * x.x_step,
        length=length,
        x_dtype=storage_dtype(site.input(0), x),
        x_elements=x.row_elements,
        x_first=(x.left - left + begin * op.stride[1]) * x.x_step,
        x_step=op.stride[1] * x.x_step,
        y_dtype=storage_dtype(site.outputs[0], y),
        y_elements=y.row_elements,
        y_first=(y.left + begin) * y.x_step,
        y_pixel_step=y.x_step,
        y_channel_step=y.c_step,
        to_int8=tail.to_int8,
        w_dtype=site.input(1).dtype,
        sum_dtype=tail.to_int8.sum_dtype,
        addend=row,
        edges=tuple(_edge(op, each, begin, depth, x.x_step) for each in columns[1:]),
    )


def _edge(op: Conv2d, columns: Columns, begin: int, depth: int, x_step: int) -> Edge:
    """Taps are columns where these are dilated, else kernel rows."""
    first, taps = columns.taps.start, len(columns.taps)
    is_dilated = op.dilation[1] > 1
    return Edge(
        first=columns.first - begin,
        pixels=columns.count,
        taps=taps if is_dilated else 1,
        length=depth if is_dilated else taps * depth,
        x_skipped=first * op.dilation[1] * x_step,
        w_skipped=first * depth,
    )


def _addend(site: Site, inputs: Sequence[RowFormat], begin: int) -> Addend | None:
    if site.addition is None:
        return None
    position = 1 - site.addition.node.inputs.index(site.node.outputs[0])
    added = addend(site.outputs[0], site.addition, position, inputs[1])
    return replace(added, first=added.first + begin * added.pixel_step)


def _summary(op: Conv2d, x: TensorType, w: Array, y: TensorType, is_sum: bool) -> str:
    o, rows, columns, depth = w.shape
    strides = f", stride {op.stride[0]}x{op.stride[1]}" if op.stride != (1, 1) else ""
    plus = ", added to another row" if is_sum else ""
    return (
        f"One row of a convolution: {rows}x{columns}{strides}, {depth} -> {o} channels, "
        f"{y.shape[2]} pixels{plus}."
    )


KERNEL = OpKernel(wants=_wants, lower=_lower, dtypes=frozenset({DType.I8, DType.I16}))
