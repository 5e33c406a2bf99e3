"""A made-up instruction set: four maxima of bytes in one instruction, and the strategy that uses it."""

from __future__ import annotations

from collections.abc import Sequence

from aot.ir.types import DType
from aot.ops.combine import Combination, Combine
from aot.target import Feature
from codegen.formats import RowFormat, RowRequest, storage_dtype
from codegen.isa.isa import Isa
from codegen.kernels.kernel import Kernel, RowAccess, Site
from codegen.kernels.row_nests import is_dense
from codegen.kernels.strategy import Condition, RowFormats, Strategy
from codegen.loops.affine import variable
from codegen.loops.ir import Binary, Buffer, For, Instruction, Proc, Role, Stmt, Store, at, load
from codegen.loops.tensorize import tensorize

QUAD = Feature("quad", "four maxima in one instruction", "__STDC__")
LANES = 4


def _four_maxima() -> Instruction:
    y = Buffer("y", DType.I8, 0, Role.OUTPUT)
    a, b = (Buffer(name, DType.I8, 0, Role.INPUT) for name in "ab")
    lane = variable("lane")
    return Instruction(
        name="four_maxima",
        params=(y, a, b),
        body=(For("lane", LANES, (Store(at(y, lane), Binary("max", load(a, lane), load(b, lane))),)),),
        call="four_maxima({y}, {a}, {b});",
        definition="""\
/* What the instruction would do. */
static inline void four_maxima(int8_t *y, const int8_t *a, const int8_t *b)
{
    for (int32_t lane = 0; lane < 4; ++lane) {
        y[lane] = (int8_t)(a[lane] > b[lane] ? a[lane] : b[lane]);
    }
}
""",
        needs=frozenset({QUAD}),
    )


def _requests(site: Site) -> tuple[RowRequest | None, ...]:
    return (None, None)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    count = output.width * output.channels
    rows = [
        Buffer(name, storage_dtype(site.input(n), fmt), fmt.row_elements, Role.ROWS)
        for n, (name, fmt) in enumerate(zip("ab", inputs, strict=True))
    ]
    y = Buffer("y", DType.I8, output.row_elements, Role.OUTPUT)
    body: list[Stmt] = []
    for first, blocks, lanes in ((0, count // LANES, LANES), (count // LANES * LANES, 1, count % LANES)):
        element = variable("block") * LANES + first + variable("lane")
        largest = Binary("max", *(load(row, element) for row in rows))
        if blocks and lanes:
            body.append(For("block", blocks, (For("lane", lanes, (Store(at(y, element), largest),)),)))
    proc = Proc(f"maxima_of_{count}", (*rows, y), tuple(body))
    return Kernel(
        strategy="quad",
        why="four maxima in one instruction",
        proc=tensorize(proc, "lane", [_four_maxima()]),
        summary=f"One row of {count} maxima.",
        access=(RowAccess(stride=1, first=0, count=1),) * 2,
    )


def _is_maximum(site: Site) -> bool:
    op = site.node.op
    types = [*site.inputs, *site.outputs]
    return isinstance(op, Combine) and op.by is Combination.MAXIMUM and types == types[:1] * len(types)


def _are_dense(rows: RowFormats) -> bool:
    formats = (*rows.inputs, rows.output)
    return all(is_dense(fmt) and fmt.left == 0 and fmt.dtype_bytes == 1 for fmt in formats)


STRATEGY = Strategy(
    "quad",
    _requests,
    _lower,
    needs=frozenset({QUAD}),
    fits=(
        Condition("maxima of bytes of one shape", _is_maximum),
        Condition("four elements or more", lambda site: site.outputs[0].elements >= LANES),
    ),
    takes=(Condition("rows without gaps", _are_dense),),
)
ISA = Isa("quad", frozenset({QUAD}), strategies={"combine": (STRATEGY,)})
