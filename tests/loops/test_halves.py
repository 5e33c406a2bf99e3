"""Halves of procs: what is cut and how, what is refused and why, and that no element is in both."""

from dataclasses import replace

import pytest

from aot.ir.types import DType
from codegen.loops.affine import variable
from codegen.loops.halves import FIRST, SECOND, Shares, halves_of, turns_of
from codegen.loops.ir import (
    Accumulate,
    Buffer,
    Const,
    Declare,
    For,
    Instruction,
    Invoke,
    Proc,
    Role,
    Stmt,
    Store,
    at,
    load,
)

X = Buffer("x", DType.I8, 12, Role.INPUT)
Y = Buffer("y", DType.I8, 12, Role.OUTPUT)
ROWS = replace(Y, elements=6, rows=2)
SUM = Buffer("sum", DType.I32, 1, Role.LOCAL)
TURN, TAP = variable("i"), variable("k")


def proc_of(*body: Stmt, y: Buffer = Y) -> Proc:
    return Proc("proc", (X, y), body)


def over(count: int, *body: Stmt, var: str = "i", unrolled: bool = False) -> For:
    return For(var, count, body, unrolled)


def sums(count: int) -> For:
    """For each element a sum of two in a register."""
    add = over(2, Accumulate(at(SUM), load(X, TURN * 2 + TAP)), var="k")
    return over(count, Declare(SUM), Store(at(SUM), Const(0)), add, Store(at(Y, TURN), load(SUM)))


COPY = Store(at(Y, TURN), load(X, TURN))
LAST = over(1, Store(at(Y, 11), load(X, 11)), var="tail")
VECTOR = Instruction(
    "copy_4", (replace(X, elements=4), replace(Y, elements=4)), (over(4, COPY),), "copy({x}, {y})", ""
)


@pytest.mark.parametrize(
    ("proc", "halves"),
    [
        (proc_of(over(12, COPY)), Shares(6, 6)),
        (proc_of(over(5, COPY)), Shares(3, 2)),
        (proc_of(over(8, COPY), LAST), Shares(4, 5)),
        (proc_of(sums(6)), Shares(12, 12)),
        (
            proc_of(over(3, Store(at(Y, TURN * 4), Const(0)), Store(at(Y, TURN * 4 + 5), Const(0)))),
            Shares(4, 2),
        ),
        (proc_of(over(3, Invoke(VECTOR, (at(X, TURN * 4), at(Y, TURN * 4))))), Shares(2, 1)),
        (
            proc_of(over(6, Store(at(ROWS, TURN, 0), Const(0)), Store(at(ROWS, TURN, 1), Const(0))), y=ROWS),
            Shares(6, 6),
        ),
    ],
    ids=["even", "odd", "with a tail", "sums", "interleaved", "by an instruction", "two rows"],
)
def test_halves_have_their_shares(proc, halves):
    assert halves_of(proc) == halves


@pytest.mark.parametrize("count", [1, 2, 3, 8, 9])
def test_each_turn_belongs_to_one_half(count):
    loop = over(count, COPY)
    assert [*turns_of(loop, FIRST), *turns_of(loop, SECOND)] == list(range(count))


@pytest.mark.parametrize(
    ("proc", "why"),
    [
        (proc_of(over(4, Store(at(Y, 0), load(X, TURN)))), "the halves would share its results"),
        (
            proc_of(over(4, Store(at(Y, TURN), Const(0)), Store(at(Y, TURN + 1), Const(0)))),
            "the halves would share its results",
        ),
        (proc_of(over(4, Store(at(Y, TURN + 1), load(Y, TURN)))), "the halves would share its results"),
        (proc_of(over(4, Accumulate(at(Y, 0), load(X, TURN)))), "the halves would share its results"),
        (
            proc_of(over(3, Invoke(VECTOR, (at(X, TURN * 4), at(Y, TURN * 3))))),
            "the halves would share its results",
        ),
        (proc_of(over(4, COPY), over(4, COPY)), ""),
        (proc_of(over(4, COPY), over(6, COPY)), "the halves would share its results"),
        (proc_of(Declare(SUM), over(4, COPY)), "the halves would share its variables"),
        (proc_of(LAST), "its outermost loop has a single iteration"),
        (proc_of(over(4, COPY, unrolled=True)), "its outermost loop has a single iteration"),
        (proc_of(over(4, COPY), y=replace(Y, may_alias=True)), "its result may share memory with an operand"),
        (proc_of(over(4, COPY), y=replace(Y, role=Role.STATE)), "the halves would share its state"),
        (proc_of(over(4, COPY), y=replace(Y, role=Role.SCRATCH)), "the halves would share its scratch"),
        (
            proc_of(over(2, over(300_000, Store(at(Y, TURN * 300_000 + TAP), Const(0)), var="k"))),
            "it has too many results to list",
        ),
    ],
)
def test_what_is_not_apart_is_refused(proc, why):
    found = halves_of(proc)
    assert (found if isinstance(found, str) else "") == why
