"""write_rows, shift_rows: caches. In place, only the new rows are written, or the old ones move up first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from aot.ir.types import DType
from aot.ops.write_rows import ShiftRows, WriteRows
from codegen.formats import RowFormat
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.row_nests import flat_kernel, flat_requests, operand, result
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Buffer,
    BufferPlace,
    Cast,
    Choose,
    Const,
    Element,
    Expr,
    For,
    Index,
    Instruction,
    Invoke,
    Role,
    Stmt,
    Store,
    at,
    less,
    let,
    load,
    local,
)

_WORD = 4  # bytes
FIRST = local("first", DType.I32)  # the element at which a row begins; -1: it is not written


def _axes(site: Site) -> tuple[int, int, int, int]:
    """Returns the sizes before, along and after the axis, and the number of new rows."""
    op, x, rows = site.node.op, site.outputs[0], site.input(1)
    assert isinstance(op, WriteRows | ShiftRows)
    return prod(x.shape[: op.axis]), x.shape[op.axis], prod(x.shape[op.axis + 1 :]), rows.shape[op.axis]


def _write(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    outer, size, inner, count = _axes(site)
    rows, places, ys = operand(site, 1, "rows"), operand(site, 2, "places"), result(site)
    block, turn = variable("block"), variable("turn")
    row = row_write(ys.dtype, size * inner, inner)
    windows = (at(ys, block * (size * inner)), at(rows, (block * count + turn) * inner), at(FIRST))
    written: Stmt = Invoke(row, windows)
    if rows.role is Role.CONSTANT:  # they may be in a memory with an address space of its own
        written = For("e", size * inner, (_stored(ys, rows, *windows[:2], inner),))
    turns = (
        *_first_element(site, load(places, turn), size, inner),
        For("block", outer, (written,)),
    )
    return _kernel(
        site, (rows, places), ys, (For("turn", count, turns),), "a tensor with rows written into it"
    )


def _first_element(site: Site, given: Expr, size: int, inner: int) -> tuple[Stmt, ...]:
    """Returns code that computes where a row begins in its block: -1 if its position is outside."""
    op, place = site.op_as(WriteRows), local("place", site.input(2).dtype)
    here, begin, end = load(place), Const(0), Const(size)
    from_end = Choose(less(given, begin), given + end, given)
    narrow = Cast(DType.I32, here) if place.dtype is DType.I64 else here
    element = narrow if inner == 1 else narrow * inner
    is_inside = Choose(less(here, begin), Const(0), less(here, end))
    return (
        *let(place, from_end if op.by_index else given),
        *let(FIRST, Choose(is_inside, element, Const(-1))),
    )


def row_write(dtype: DType, size: int, length: int) -> Instruction:
    """Returns the instruction that copies a row to the element `first` of a block, unless that is -1."""
    y, row = Buffer("y", dtype, 0, Role.OUTPUT), Buffer("row", dtype, length, Role.INPUT)
    name, bytes_each = f"write_{length}_{dtype.value}_of_{size}", length * dtype.bytes
    return Instruction(
        name=name,
        params=(y, row, FIRST),
        body=(For("e", size, (_stored(y, row, at(y), at(row), length),)),),
        call=f"{name}({{y}}, {{row}}, {{first[0]}});",
        definition=f"""\
static inline void {name}({dtype.c_name} *y, const {dtype.c_name} *row, int32_t first)
{{
    if (first >= 0) {{
        memcpy(y + first, row, {bytes_each}u);
    }}
}}
""",
        includes=("string.h",),
        machine_instructions=4,
    )


def _stored(ys: Buffer, rows: Buffer, to: BufferPlace, source: BufferPlace, length: int) -> Stmt:
    """Returns the code that stores an element of a block: of the row if that covers it, else the old one."""
    e = variable("e")
    distance = Index(e) - load(FIRST)
    old = load(ys, to.index + e)
    covers = Choose(less(distance, 0), Const(0), less(distance, length))
    is_there = Choose(less(load(FIRST), 0), Const(0), covers)
    return Store(at(ys, to.index + e), Choose(is_there, Element(at(rows, source.index), distance), old))


def _shift(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    outer, size, inner, count = _axes(site)
    rows, ys, length = operand(site, 1, "rows"), result(site), count * inner
    block, e = variable("block"), variable("e")
    whole, kept = size * inner, (size - count) * inner
    moved = _moved(ys, block * whole, kept, length)
    if not site.in_place:
        x = operand(site, 0, "x")
        moved = For("e", kept, (Store(at(ys, block * whole + e), load(x, block * whole + e + length)),))
    body = (
        moved,
        For("e", length, (Store(at(ys, block * whole + e + kept), load(rows, block * length + e)),)),
    )
    loops = For("block", outer, body if kept else body[1:])
    return _flat(site, (rows,), (loops,), "a tensor that drops its first rows for new ones")


def _moved(ys: Buffer, first: Affine, kept: int, length: int) -> Stmt:
    """Returns the code that moves elements up by some places in their own memory, by words if possible."""
    e, step, dtype = variable("e"), length * ys.dtype.bytes, ys.dtype
    loop = For("e", kept, (Store(at(ys, first + e), load(ys, first + e + length)),))
    if step % _WORD or kept * dtype.bytes % _WORD or step < _WORD:
        return loop
    name, y = f"move_up_{kept}_{dtype.value}_by_{length}", Buffer("y", dtype, 0, Role.OUTPUT)
    move = Instruction(
        name=name,
        params=(y,),
        body=(For("e", kept, (Store(at(y, e), load(y, e + length)),)),),
        call=f"{name}({{y}});",
        definition=f"""\
static inline void {name}({dtype.c_name} *y)
{{
    uint8_t *const to = (uint8_t *)y;
    for (uint32_t i = 0; i < {kept * dtype.bytes}u; i += 4u) {{
        uint32_t word;
        memcpy(&word, to + i + {step}u, 4u);
        memcpy(to + i, &word, 4u);
    }}
}}
""",
        includes=("string.h",),
        machine_instructions=8,
    )
    return Invoke(move, (at(ys, first),))


def _kernel(
    site: Site, operands: tuple[Buffer, ...], ys: Buffer, body: tuple[Stmt, ...], what: str
) -> Kernel:
    """Returns a kernel that changes its result, after it was copied from the input unless it is in place."""
    if site.in_place:
        return _flat(site, operands, body, what)
    i = variable("i")
    copy = For("i", ys.elements, (Store(at(ys, i), load(operand(site, 0, "x"), i)),))
    return _flat(site, operands, (copy, *body), what)


def _flat(site: Site, operands: tuple[Buffer, ...], body: tuple[Stmt, ...], what: str) -> Kernel:
    every = operands if site.in_place else (operand(site, 0, "x"), *operands)
    return flat_kernel(site, every, body, what)


KERNELS: Mapping[str, OpKernel] = {
    "shift_rows": OpKernel((Strategy("plain", flat_requests, _shift),), frozenset(DType)),
    "write_rows": OpKernel((Strategy("plain", flat_requests, _write),), frozenset(DType)),
}
