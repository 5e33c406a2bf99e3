"""depthwise_conv2d by SMLAD for 3x3 windows: rows of planes, nine weights in five registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from aot.ops.requant import quant_of
from aot.target import Optimize
from codegen.formats import ElementOrder, RowFormat, RowRequest, storage_dtype
from codegen.isa.dsp.depthwise import READ_AHEAD, STRIDES, DepthwiseRow, depthwise_row
from codegen.isa.dsp.depthwise_text import (
    FOUR_BIT_BYTES,
    TAPS_BYTES,
    TAPS_ORDER,
    four_bit_tap,
    four_bit_taps,
)
from codegen.isa.dsp.needs import ANY_WORDS
from codegen.isa.dsp.window import KERNEL, Edges, read_past
from codegen.kernels.depthwise_conv2d import (
    DepthwiseRows,
    Element,
    depthwise_kernel,
    depthwise_nest,
    filters_of,
    fitted_tail_of,
    op_of,
    tail_of,
)
from codegen.kernels.four_bit_weights import FOUR_BITS, has_four_bits
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.knobs import Knob, Point, Space
from codegen.kernels.strategy import BYTES, Condition, RowRequests, Strategy, sums_of_32_bits
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Accumulate,
    Binary,
    Body,
    Buffer,
    BufferPlace,
    Expr,
    For,
    Load,
    Proc,
    Stmt,
    map_places,
    substitute,
)
from codegen.loops.schedule import change_loops
from codegen.loops.tensorize import tensorize

KNOBS = (Knob("turns", (1, 2, 4), is_written_out=True),)  # of the loop over pairs of outputs


def _is_square(site: Site) -> bool:
    op, (rows, columns, _) = op_of(site), site.constants[1].shape
    return rows == columns == KERNEL and op.dilation[1] == 1 and op.stride[1] in STRIDES


def _requests(site: Site) -> RowRequests:
    """Requests padded planes, or unpadded ones if windows extend past rows by at most one pixel."""
    (top, bottom), (left, right) = op_of(site).padding
    edges = _edges(site)
    if edges is None:
        return (RowRequest(ElementOrder.PLANES, 1, left, right, top, bottom, slack=READ_AHEAD),)
    past = read_past(site.outputs[0].shape[2], op_of(site).stride[1], edges)
    return (RowRequest(ElementOrder.PLANES, 1, 0, 0, top, bottom, slack=past),)


def _edges(site: Site) -> Edges | None:
    """Returns the edges of unpadded planes, which a window may exceed by one pixel, or None."""
    op, x, y = op_of(site), site.input(0), site.outputs[0]
    edges = Edges(x.shape[2], op.padding[1][0], quant_of(x).zero_point)
    right = (y.shape[2] - 1) * op.stride[1] + KERNEL - edges.left - edges.width
    return edges if site.unpadded and 0 < max(edges.left, right) <= 1 else None


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    tail, row = fitted_tail_of(site), _row(site, output)
    proc = depthwise_nest(site, inputs[0], output, tail, _element(site, inputs[0], row.edges))
    four_bits = row.weight_bits == 4
    space = _space(f"{proc.name} planes{' ' + FOUR_BITS if four_bits else ''}", row)
    point = space.chosen(site.tuned)
    instruction = depthwise_row(replace(row, turns=point["turns"]), tail.storing)
    taps = filters_of(site).reshape(-1, KERNEL * KERNEL)[:, TAPS_ORDER]
    ordered = _in_order_of_taps(proc)
    made = DepthwiseRows(
        "smlad",
        f"3x3 windows along planes, nine weights{' of four bits' if four_bits else ''} in five registers",
        tensorize(_of_four_bits(ordered) if four_bits else ordered, "column", [instruction]),
        (four_bit_taps(taps) if four_bits else taps).reshape(-1),
        space,
        point,
        slowed_by_edges=row.edges is not None,
    )
    return depthwise_kernel(site, output, tail, made)


def _in_order_of_taps(proc: Proc) -> Proc:
    """Returns the nest with its taps one by one, at their positions in `TAPS_ORDER`."""
    taps = KERNEL * KERNEL

    def ordered(place: BufferPlace, number: int) -> BufferPlace:
        moved = place.index + (TAPS_ORDER.index(number) - number)
        return replace(place, index=moved) if place.buffer.name == "w" else place

    def written_out(loop: For) -> Body:
        (inner,) = loop.body
        assert isinstance(inner, For)
        found: list[Stmt] = []
        for number in range(taps):
            row, tap = (Affine(constant=n) for n in divmod(number, KERNEL))
            each = (substitute(stmt, {loop.var: row, inner.var: tap}) for stmt in inner.body)
            found += [map_places(stmt, partial(ordered, number=number)) for stmt in each]
        return tuple(found)

    return change_loops(proc, "r", written_out)


def _of_four_bits(proc: Proc) -> Proc:
    """Returns the nest in the order of taps, with weights unpacked from bytes that hold two."""
    old = proc.param("w")
    new = replace(old, elements=old.elements // TAPS_BYTES * FOUR_BIT_BYTES)

    def changed(stmt: Stmt) -> Stmt:
        match stmt:
            case For():
                return replace(stmt, body=tuple(map(changed, stmt.body)))
            case Accumulate(place, Binary("*", value, Load(BufferPlace(buffer, index)))) if buffer == old:
                terms = tuple((name, step // TAPS_BYTES * FOUR_BIT_BYTES) for name, step in index.terms)
                return Accumulate(place, value * four_bit_tap(index.constant, new, Affine(terms)))
        return stmt

    params = tuple(new if param == old else param for param in proc.params)
    return replace(proc, params=params, body=tuple(map(changed, proc.body)))


def _element(site: Site, x: RowFormat, edges: Edges | None) -> Element | None:
    if edges is None:
        return None
    c, column, row, tap = (variable(v) for v in ("c", "column", "r", "t"))

    def element(xs: Buffer) -> Expr:
        return edges.value(xs, c * x.c_step + x.left, column * op_of(site).stride[1] + tap, row)

    return element


def _row(site: Site, y: RowFormat) -> DepthwiseRow:
    y_dtype = storage_dtype(site.outputs[0], y)
    edges = _edges(site)
    is_general = site.optimize is Optimize.SIZE and edges is None
    bits = 4 if has_four_bits(site.constants[1]) and not site.for_any_weights else 8
    stride = op_of(site).stride[1]
    return DepthwiseRow(
        y.width, stride, y_dtype, y.x_step, is_general=is_general, edges=edges, weight_bits=bits
    )


def _space(task: str, row: DepthwiseRow) -> Space:
    """Returns the space of pairs per iteration that divide the row's pairs."""

    def is_possible(point: Point) -> bool:
        straight = row.is_short or row.edges is not None
        return not straight and row.outputs // 2 % point["turns"] == 0

    return Space(task, KNOBS, {"turns": 1}, is_possible, {"turns": row.outputs // 2})


STRATEGY = Strategy(
    "smlad",
    _requests,
    _lower,
    ANY_WORDS,
    (
        BYTES,
        Condition("windows of 3x3 with a stride of 1 or 2", _is_square),
        Condition("rows of several results", lambda site: site.outputs[0].shape[2] > 1),
        sums_of_32_bits(tail_of),
    ),
)
