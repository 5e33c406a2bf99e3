"""depthwise_conv2d by SMLAD for 3x3 windows: blocks of up to six outputs along planes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aot.ir.types import DType
from aot.target import Optimize
from codegen.formats import ElementOrder, RowFormat, RowRequest, storage_dtype
from codegen.isa.dsp.depthwise import STRIDES
from codegen.isa.dsp.needs import ANY_WORDS
from codegen.isa.dsp.window import (
    ADDEND_PLACE,
    KERNEL,
    MOST_OUTPUTS,
    READ_AHEAD,
    RECORD_BYTES,
    SCALE_PLACE,
    START_PLACE,
    TAP_PLACES,
    WindowSums,
    records,
    window_sums,
)
from codegen.isa.plain.requantise import StoreQuantised
from codegen.kernels.depthwise_conv2d import (
    DepthwiseRows,
    depthwise_kernel,
    filters_of,
    fitted_tail_of,
    op_of,
)
from codegen.kernels.four_bit_weights import has_four_bits
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.knobs import Knob, Space
from codegen.kernels.strategy import BYTES, NOT_FOR_SIZE, Condition, RowRequests, Strategy
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
    Instruction,
    Proc,
    Role,
    Stmt,
    Store,
    at,
    load,
    local,
)
from codegen.loops.tensorize import tensorize

KNOBS = (Knob("outputs", tuple(range(1, MOST_OUTPUTS + 1)), is_written_out=True),)
_BYTE = 8  # bits


@dataclass(frozen=True, slots=True)
class BlockRow:
    """A channel's row of outputs, `each` of them at a time."""

    outputs: int
    each: int
    stride: int
    y_dtype: DType
    y_step: int  # elements from one output to the next

    @property
    def name(self) -> str:
        whole, rest = divmod(self.outputs, self.each)
        blocks = f"_of_{self.each}" if whole == 1 else f"_by_{self.each}"
        last = f"_and_{rest}" if rest else ""
        return f"depthwise_3x3_stride_{self.stride}_{self.y_dtype.value}{blocks}{last}"

    def sums(self, outputs: int) -> WindowSums:
        return WindowSums(outputs, self.stride, advances=self.outputs > self.each)


def block_row(row: BlockRow, storing: StoreQuantised) -> Instruction:
    """y[i * y_step] = stored(start + sum over r, t of x[r][i * stride + t] * tap); w is the record."""
    y = Buffer("y", row.y_dtype, 0, Role.OUTPUT)
    x = Buffer("x", DType.I8, 0, Role.ROWS, KERNEL)
    w = Buffer("w", DType.I8, RECORD_BYTES, Role.CONSTANT)
    whole, rest = divmod(row.outputs, row.each)
    prepare = [storing.prepare] if storing.prepare is not None else []
    name = "_".join([row.name, storing.store.name, *(each.name for each in prepare)])
    numbers = (("y_step", row.y_step), *((("blocks", whole),) if whole > 1 else ()))
    given = ", ".join(f"{{{number}}}" for number, _ in numbers)
    parts = [window_sums(row.sums(n)) for n in (row.each, rest) if n]
    return Instruction(
        name=name,
        params=(y, x, w),
        body=(_outputs(row, storing, (y, x, w), (Affine(), Affine(), Affine())),),
        call=f"{name}({{y}}, {{x_array}}, {{x_offset}}, {{w}}, {given});",
        definition=_text(name, row, storing),
        numbers=numbers,
        includes=("string.h",),
        calls=(storing.store, *prepare, *parts),
        needs=ANY_WORDS,
        machine_instructions=sum(each.machine_instructions for each in parts) + 4 * (row.each + rest) + 12,
    )


def _outputs(
    row: BlockRow,
    storing: StoreQuantised,
    buffers: tuple[Buffer, Buffer, Buffer],
    first: tuple[Affine, Affine, Affine],
) -> Stmt:
    """Returns the loop over a channel's outputs; `first` are its first elements of y, x and w."""
    (y, x, w), (y_first, x_first, w_first), column = buffers, first, variable("column")
    total = local("sum", DType.I32)
    products = (
        Accumulate(
            at(total),
            load(x, column * row.stride + number % KERNEL + x_first, number // KERNEL)
            * load(w, w_first + place),
        )
        for number, place in enumerate(TAP_PLACES)
    )
    scales = [_number(w, w_first + SCALE_PLACE, 4), _number(w, w_first + ADDEND_PLACE, 2)]
    if storing.prepare is not None:
        scales.append(Apply(storing.prepare, (scales[1],)))
    stored = Apply(storing.store, (load(total), *scales))
    start = Store(at(total), _number(w, w_first + START_PLACE, 4))
    place = at(y, column * row.y_step + y_first)
    return For("column", row.outputs, (Declare(total), start, *products, Store(place, stored)))


def _number(w: Buffer, first: Affine, size: int) -> Expr:
    """Returns the number of `size` bytes in the record, the least significant byte first."""
    number: Expr = load(w, first + (size - 1))
    for byte in reversed(range(size - 1)):
        low = load(w, first + byte) & (1 << _BYTE) - 1
        number = (number << _BYTE) + low
    return number


def _text(name: str, row: BlockRow, storing: StoreQuantised) -> str:
    whole, rest = divmod(row.outputs, row.each)
    advances = row.sums(row.each).advances
    rows = "    const int8_t *rows[3] = {x[0] + offset, x[1] + offset, x[2] + offset};"
    first = [*_block(row, row.each, storing), *([f"        y += y_step * {row.each};"] if advances else [])]
    loop = "    for (int32_t n = 0; n < blocks; ++n) {" if whole > 1 else "    {"
    is_alone = whole == 1 and not rest
    return "\n".join(
        [
            f"/* A channel's outputs in {row.y_dtype.value}, y_step elements apart, from its record w. */",
            f"static inline __attribute__((always_inline)) void {name}(",
            f"    {row.y_dtype.c_name} *y, const int8_t *const *x, int32_t offset, const int8_t *w, "
            f"int32_t y_step{', int32_t blocks' if whole > 1 else ''})",
            "{",
            *([rows] if advances else []),
            *([line.removeprefix("    ") for line in first] if is_alone else [loop, *first, "    }"]),
            *(["    {", *_block(row, rest, storing), "    }"] if rest else []),
            "}",
            "",
        ]
    )


def _block(row: BlockRow, outputs: int, storing: StoreQuantised) -> list[str]:
    sums, c_type = row.sums(outputs), row.y_dtype.c_name
    steps = ("0", "y_step", *(f"y_step * {n}" for n in range(2, outputs)))[:outputs]
    given = ", ".join(f"&{each}" for each in sums.sums)
    second, prepare = "addend" if storing.is_fitted else "shift", storing.prepare
    scales = ("scale", second, *(("rounding",) if prepare is not None else ()))
    prepared = [f"        const int32_t rounding = {prepare.name}(shift);"] if prepare is not None else []
    x = "rows" if sums.advances else "x, offset"
    return [
        f"        int32_t start, scale, {', '.join(sums.sums)};",
        f"        int16_t {second};",
        f"        memcpy(&start, w + {START_PLACE}, sizeof start);",
        f"        {sums.name}({given}, start, {x}, w);",
        f"        memcpy(&scale, w + {SCALE_PLACE}, sizeof scale);",
        f"        memcpy(&{second}, w + {ADDEND_PLACE}, sizeof {second});",
        *prepared,
        *(
            f"        y[{step}] = ({c_type}){storing.store.name}({each}, {', '.join(scales)});"
            for each, step in zip(sums.sums, steps, strict=True)
        ),
    ]


def _is_single_issue(site: Site) -> bool:
    """Returns True unless another order of loads, as in shorter blocks, is faster."""
    return not site.target.pairs_instructions


def _is_possible(site: Site) -> bool:
    op, (rows, columns, _) = op_of(site), site.constants[1].shape
    is_square = rows == columns == KERNEL and op.dilation[1] == 1 and op.stride[1] in STRIDES
    return is_square and op.multiplier == 1 and site.outputs[0].shape[2] > 1


def _has_padding(site: Site) -> bool:
    """Returns True unless windows would extend past the rows."""
    return not site.unpadded or op_of(site).padding[1] == (0, 0)


def _fills_records(site: Site) -> bool:
    """Returns True if a channel has two constants beside its start value, of 32 and at most 16 bits."""
    storing = fitted_tail_of(site).storing
    small = not storing.is_fitted or storing.addends is DType.I16
    return small and not storing.is_prepared and storing.sum_dtype is DType.I32


def _has_bytes(site: Site) -> bool:
    return site.for_any_weights or not has_four_bits(site.constants[1])


def _requests(site: Site) -> RowRequests:
    """Requests padded planes, for speed an even number of bytes apart: a word at an odd address is slow."""
    (top, bottom), (left, right) = op_of(site).padding
    if site.optimize is Optimize.SPEED and (site.input(0).shape[2] + max(left, right)) % 2:
        right = max(left, right) + 1
    return (RowRequest(ElementOrder.PLANES, 1, left, right, top, bottom, slack=READ_AHEAD),)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    (x,), tail, op, channels = inputs, fitted_tail_of(site), op_of(site), site.constants[1].shape[2]
    name = f"depthwise_conv2d_{KERNEL}x{KERNEL}_{channels}_by_{output.width}"
    space = _space(f"{name} blocks", output.width)
    point = space.chosen(site.tuned)
    y_dtype = storage_dtype(site.outputs[0], output)
    row = BlockRow(output.width, point["outputs"], op.stride[1], y_dtype, output.x_step)
    xs = Buffer("x", storage_dtype(site.input(0), x), x.row_elements, Role.ROWS, KERNEL)
    ys = Buffer("y", y_dtype, output.row_elements, Role.OUTPUT)
    w = Buffer("w", DType.I8, channels * RECORD_BYTES, Role.CONSTANT)
    c = variable("c")
    first = (
        c * output.c_step + output.left * output.x_step,
        c * x.c_step + (x.left - op.padding[1][0]),
        c * RECORD_BYTES,
    )
    second = tail.scales["addend" if tail.storing.is_fitted else "right"].astype(np.int16)
    channel = _outputs(row, tail.storing, (ys, xs, w), first)
    nest = Proc(name, (xs, ys, w), (For("c", channels, (channel,)),))
    made = DepthwiseRows(
        "smlad",
        f"3x3 windows along planes, {row.each} outputs at a time",
        tensorize(nest, "column", [block_row(row, tail.storing)]),
        records(filters_of(site).reshape(channels, -1), tail.bias, tail.scales["mult"], second),
        space,
        point,
    )
    return depthwise_kernel(site, output, tail, made)


def _space(task: str, width: int) -> Space:
    """Returns the space of outputs per block; by default as few blocks as possible, of about equal size."""
    each = -(-width // -(-width // MOST_OUTPUTS))
    return Space(task, KNOBS, {"outputs": each}, lambda point: point["outputs"] <= width, {"outputs": width})


STRATEGY = Strategy(
    "smlad",
    _requests,
    _lower,
    ANY_WORDS,
    (
        BYTES,
        NOT_FOR_SIZE,
        Condition("cores that start one instruction at a time", _is_single_issue),
        Condition(
            "windows of 3x3 with a stride of 1 or 2, one per channel, in rows of several", _is_possible
        ),
        Condition("rows with padding", _has_padding),
        Condition("weights of 8 bits", _has_bytes),
        Condition("sums of 32 bits, with scales that are known", _fills_records),
    ),
)
