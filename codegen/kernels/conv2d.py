"""conv2d: one output row as dot products over pointers to input rows.

In unpadded rows, taps of a window outside of the row are skipped. Their zero points are then missing from the
sums, so the sums of such columns start from an adjusted bias.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops.activation import integer_clamp
from aot.ops.binary_rescale import add_parameters
from aot.ops.conv2d import Conv2d
from aot.ops.conv2d_add import Conv2dAdd
from aot.ops.requant import quant_of
from aot.target import Feature
from codegen.formats import ElementOrder, RowFormat, RowRequest, storage_dtype
from codegen.isa.plain.arithmetic import StoredResult, sum_int8
from codegen.kernels.conv_site import conv_op, conv_tail, fitted_conv_tail, has_whole_windows, is_for_speed
from codegen.kernels.dot_product import (
    Addend,
    DotMethod,
    DotProblem,
    OverhangingPixels,
    Tile,
    in_stored_rows,
    plain_dot,
)
from codegen.kernels.f32_sums import CONV2D
from codegen.kernels.kernel import Kernel, RowAccess, Site
from codegen.kernels.packed_rows import packed_cost, packed_rows
from codegen.kernels.register_tile import Sums, widest_cost
from codegen.kernels.strategy import (
    BYTES,
    Condition,
    OpKernel,
    RowRequests,
    Strategy,
    by_dtype,
    sums_of_32_bits,
)
from codegen.kernels.winograd_plain import MANY_REGISTERS, PLAIN_CORE, winograd_cost
from codegen.kernels.winograd_rows import winograd_strategy
from codegen.loops.ir import Buffer, Role


@dataclass(frozen=True, slots=True)
class Columns:
    """Neighboring columns of a result, and the taps of a kernel row inside for them."""

    first: int
    count: int
    taps: range


def columns_of(
    width: int, outputs: int, taps: int, stride: int, dilation: int, left: int
) -> tuple[Columns, ...]:
    """Returns the kinds of columns from left to right. Windows begin `left` pixels before the row."""
    found: list[Columns] = []
    for column in range(outputs):
        begin = column * stride - left
        first = min(taps, max(0, -(begin // dilation)))
        stop = min(taps, max(first, (width - 1 - begin) // dilation + 1))
        inside = range(first, stop)
        if found and found[-1].taps == inside:
            found[-1] = Columns(found[-1].first, found[-1].count + 1, inside)
        else:
            found.append(Columns(column, 1, inside))
    return tuple(found)


def whole_first(columns: tuple[Columns, ...], taps: int) -> tuple[Columns, ...]:
    """Returns the columns with the whole window first; empty if no column has it, or one has no tap."""
    whole = tuple(each for each in columns if len(each.taps) == taps)
    others = tuple(each for each in columns if len(each.taps) != taps)
    return (*whole, *others) if len(whole) == 1 and all(each.taps for each in columns) else ()


def bias_inside(bias: Array, weights: Array, taps: range, zero_point: int) -> Array:
    """Returns the bias of sums that skip taps.

    `bias` includes the zero point of all `weights` [channel][row][tap]...
    """
    outside = [t for t in range(weights.shape[2]) if t not in taps]
    left_out = weights[:, :, outside].astype(np.int64).reshape(len(weights), -1).sum(axis=1)
    return np.asarray(bias.astype(np.int64) + zero_point * left_out).astype(bias.dtype)


_LEAST_TILE = (2, 2)
_PLAIN_DOT = plain_dot(Tile(*_LEAST_TILE))
_WORD, _HOST = 4, "host"


@dataclass(frozen=True)
class Conv2dRows:
    """A convolution, and the method of its dot products; both decide which rows it reads and its kernel."""

    site: Site
    method: DotMethod

    @property
    def op(self) -> Conv2d:
        return conv_op(self.site)

    @property
    def weights(self) -> Array:
        return self.site.constants[1]

    @property
    def tap_length(self) -> int:
        """Returns the contiguous elements of a tap: a kernel row, or one pixel if columns are dilated."""
        _, _, columns, depth = self.weights.shape
        return int(depth if self.op.dilation[1] > 1 else columns * depth)

    @cached_property
    def columns(self) -> tuple[Columns, ...]:
        """Returns the kinds of columns of unpadded rows, the one with the whole window first; none if padded.

        A tap can be left out if its channels are whole groups.
        """
        op, (_, _, taps, depth) = self.op, self.weights.shape
        (left, right), x, y = op.padding[1], self.site.input(0), self.site.outputs[0]
        is_bare = self.method.leaves_out_taps and self.site.unpadded and (left or right)
        if not is_bare or depth % self.method.group:
            return ()
        return whole_first(columns_of(x.shape[2], y.shape[2], taps, op.stride[1], op.dilation[1], left), taps)

    def requests(self) -> RowRequests:
        (top, bottom), (left, right) = self.op.padding
        if self.columns:
            left = right = 0
        slack = -self.tap_length % self.method.group
        image = RowRequest(ElementOrder.PIXELS, self.method.row_bytes, left, right, top, bottom, slack=slack)
        return (image, None) if isinstance(self.site.node.op, Conv2dAdd) else (image,)

    def kernel(self, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
        op, tail = self.op, self.method.tail
        problem = self._problem(inputs, y)
        scheduled = self.method.dot(self.site, problem)
        window = RowAccess(op.stride[0], -op.padding[0][0], self.weights.shape[1], op.dilation[0])
        accesses = (window, RowAccess(stride=1, first=0, count=1))
        return Kernel(
            strategy=scheduled.strategy,
            why=scheduled.why,
            proc=scheduled.proc,
            summary=_summary(op, self.weights, self.site.outputs[0], problem.addend is not None),
            access=accesses[: len(problem.rows_read)],
            constants={
                "w": scheduled.stored(self.weights),
                **scheduled.tables,
                **tail.tables_of(scheduled.proc.params),
                **self._edge_tables(),
            },
            space=scheduled.space,
            point=scheduled.point,
        )

    def _edge_tables(self) -> Mapping[str, Array]:
        """Returns the biases with which sums start, for each kind of edge column."""
        zero_point, bias = quant_of(self.site.input(0)).zero_point, self.method.tail.bias
        return {
            f"bias_{n}": bias_inside(bias, self.weights, each.taps, zero_point)
            for n, each in enumerate(self.columns[1:])
        }

    def _problem(self, inputs: Sequence[RowFormat], y: RowFormat) -> DotProblem:
        op, site, x = self.op, self.site, inputs[0]
        channels, kernel_rows, kernel_columns, depth = self.weights.shape
        columns = self.columns or (Columns(0, y.width, range(kernel_columns)),)
        begin = columns[0].first
        row = _addend(site, inputs[-1], begin)
        added = "" if row is None else "_added"
        return DotProblem(
            name=f"conv2d_{kernel_rows}x{kernel_columns}_{depth}_to_{channels}_by_{y.width}{added}",
            pixels=columns[0].count,
            channels=channels,
            kernel_rows=kernel_rows,
            taps=kernel_columns * depth // self.tap_length,
            tap_step=op.dilation[1] * x.x_step,
            length=self.tap_length,
            x_dtype=storage_dtype(site.input(0), x),
            x_elements=x.row_elements,
            x_first=(x.left - op.padding[1][0] + begin * op.stride[1]) * x.x_step,
            x_step=op.stride[1] * x.x_step,
            y_dtype=storage_dtype(site.outputs[0], y),
            y_elements=y.row_elements,
            y_first=(y.left + begin) * y.x_step,
            y_pixel_step=y.x_step,
            y_channel_step=y.c_step,
            tail=self.method.tail,
            w_dtype=site.input(1).dtype,
            addend=row,
            edges=tuple(_edge(op, each, begin, depth, x.x_step) for each in columns[1:]),
        )


def conv2d_strategy(
    name: str,
    method: Callable[[Site], DotMethod],
    needs: frozenset[Feature] = frozenset(),
    fits: tuple[Condition[Site], ...] = (),
    adds_in_store: tuple[Condition[Site], ...] | None = None,
) -> Strategy:
    """Returns a strategy over padded rows of pixels, or over unpadded ones if its method leaves out taps."""

    def requests(site: Site) -> RowRequests:
        return Conv2dRows(site, method(site)).requests()

    def lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
        return Conv2dRows(site, method(site)).kernel(inputs, output)

    return Strategy(name, requests, lower, needs, fits, adds_in_store=adds_in_store)


def _addend(site: Site, fmt: RowFormat, begin: int) -> Addend | None:
    """Returns the row that a conv2d+add adds, from pixel `begin` on; None for a convolution alone.

    Adding it in the store saves the memory of the convolution's own results. That pays if the tile's sums are
    in core registers, as with SMLAD: a quarter of the saved pass. On Helium, a separate pass over both rows
    needs no more instructions. On every core, both operators' rows must then be live together.
    """
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
        added=sum_int8("+", add_parameters(made, other, out), zero_points, result, op.add.rounding),
    )


def _edge(op: Conv2d, columns: Columns, begin: int, depth: int, x_step: int) -> OverhangingPixels:
    """Returns the pixels of an edge. A tap is a column if columns are dilated, otherwise a kernel row."""
    first, taps = columns.taps.start, len(columns.taps)
    is_dilated = op.dilation[1] > 1
    return OverhangingPixels(
        first=columns.first - begin,
        pixels=columns.count,
        taps=taps if is_dilated else 1,
        length=depth if is_dilated else taps * depth,
        x_skipped=first * op.dilation[1] * x_step,
        w_skipped=first * depth,
    )


def _summary(op: Conv2d, w: Array, y: TensorType, is_sum: bool) -> str:
    o, rows, columns, depth = w.shape
    strides = f", stride {op.stride[0]}x{op.stride[1]}" if op.stride != (1, 1) else ""
    plus = ", added to another row" if is_sum else ""
    return (
        f"One row of a convolution: {rows}x{columns}{strides}, {depth} -> {o} channels, "
        f"{y.shape[2]} pixels{plus}."
    )


def _costs(site: Site) -> tuple[int | None, int]:
    """Returns the costs of the best tiles with packed pixels, where there are any, and without."""
    w, y, registers = site.constants[1], site.outputs[0].shape, site.target.registers
    sums = Sums(y[1], y[2], w.shape[0], w[0].size)
    packed = packed_cost(sums, w, registers) if _has_registers(site) else None
    return packed, widest_cost(sums, registers, _LEAST_TILE)


def _multiplies_words(site: Site) -> bool:
    """Returns True unless a product takes many instructions, or the compiler makes vectors of plain loops."""
    return site.target.pointer_bytes >= _WORD and site.target.machine != _HOST


def _has_registers(site: Site) -> bool:
    return site.target.registers >= MANY_REGISTERS


def _packs_pixels(site: Site) -> bool:
    """Returns True if packing two pixels needs fewer instructions, and memory suffices."""
    packed, plain = _costs(site)
    return packed is not None and packed < plain


def _saves_products(site: Site) -> bool:
    """Returns True if Winograd's convolution needs fewer instructions than the other strategies."""
    return winograd_cost(site) < min(cost for cost in _costs(site) if cost is not None)


def _plain(site: Site) -> DotMethod:
    return replace(in_stored_rows(_PLAIN_DOT, fitted_conv_tail)(site), leaves_out_taps=True)


PLAIN = conv2d_strategy("plain", _plain)
PACKED = conv2d_strategy(
    "packed",
    in_stored_rows(packed_rows, fitted_conv_tail),
    fits=(
        Condition("cores with many registers", _has_registers),
        BYTES,
        Condition("speed, where memory has room for words of pixels", is_for_speed),
        Condition("whole windows, their columns side by side", has_whole_windows),
        Condition("weights that are known", lambda site: not site.for_any_weights),
        sums_of_32_bits(conv_tail),
        Condition("layers where two pixels in a word save instructions", _packs_pixels),
    ),
)
WINOGRAD = winograd_strategy(
    PLAIN_CORE,
    "fours or eights",
    "pairs or fours",
    (
        Condition("cores with products of 32 bits, one at a time", _multiplies_words),
        Condition("weights that are known", lambda site: not site.for_any_weights),
        Condition("one core, whose scratch is not shared", lambda site: site.cores == 1),
        Condition("layers where fewer products save more than the sums before and after", _saves_products),
    ),
)
_INTEGERS = OpKernel((WINOGRAD, PACKED, PLAIN), frozenset({DType.I8, DType.I16}))
KERNEL = by_dtype(_INTEGERS, CONV2D)
