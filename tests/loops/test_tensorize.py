"""An instruction takes the place of the nest that means the same, and of no other."""

import pytest
from nests import CHANNEL, PIXEL, K, R, dots, mean_the_same, proc_of

from aot.ir.types import DType
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Accumulate,
    Binary,
    Buffer,
    Const,
    Expr,
    For,
    Instruction,
    Invoke,
    Proc,
    Role,
    Stmt,
    Store,
    at,
    load,
    walk,
)
from codegen.loops.schedule import ScheduleError, split
from codegen.loops.tensorize import tensorize

A = Buffer("a", DType.I8, 0, Role.INPUT)
B = Buffer("b", DType.I8, 0, Role.CONSTANT)
TOTAL = Buffer("total", DType.I32, 1, Role.LOCAL)
N = variable("n")


def instruction(*body: Stmt, params: tuple[Buffer, ...] = (TOTAL, A, B)) -> Instruction:
    return Instruction("mac", params, body, call="mac({total[0]}, {a}, {b});", definition="")


def mac(length: int, product: Expr | None = None) -> Instruction:
    """total += sum of a[n] * b[n]"""
    product = product or Binary("*", load(A, N), load(B, N))
    return instruction(For("n", length, (Accumulate(at(TOTAL), product),)))


def invoked(proc: Proc) -> list[Invoke]:
    return [s for s in walk(proc.body) if isinstance(s, Invoke)]


@pytest.mark.parametrize("length", [1, 2, 5])
def test_a_matching_nest_becomes_the_instruction(length):
    nest = dots(2, 3, length)
    made = tensorize(nest, "k", [mac(length)])
    (call,) = invoked(made)
    assert [(w.buffer.name, str(w.index)) for w in call.windows] == [
        ("sum", "0"),
        ("x", "p"),
        ("w", f"o * {length} + r * {length}" if length > 1 else "o + r"),
    ]
    assert mean_the_same(nest, made)


def test_the_first_instruction_that_matches_is_taken_for_each_loop():
    """Main part and tail of a split each find theirs."""
    nest = split(dots(2, 3, 7), "k", 4, "kb", "k4")
    made = tensorize(nest, "k4", [mac(4), mac(1)])
    assert [len(call.instruction.body) and call.instruction.body[0].extent for call in invoked(made)] == [  # type: ignore[union-attr]
        4,
        1,
    ]
    assert mean_the_same(nest, made)


def test_an_enclosing_loop_may_have_the_name_of_one_in_the_instruction():
    """Names mean nothing across the two: here `n` walks the pixels outside and runs once inside."""
    x, w = Buffer("x", DType.I8, 4, Role.INPUT), Buffer("w", DType.I8, 1, Role.CONSTANT)
    y = Buffer("y", DType.I32, 4, Role.OUTPUT)
    product = Binary("*", load(x, N + K), load(w, K))
    body = (Store(at(y, N), Const(0)), For("k", 1, (Accumulate(at(y, N), product),)))
    nest = Proc("nest", (x, w, y), (For("n", 4, body),))
    made = tensorize(nest, "k", [mac(1)])
    assert mean_the_same(nest, made)


SWAPPED = Binary("*", load(B, N), load(A, N))
SUM_OF_BOTH = Binary("+", load(A, N), load(B, N))
EVERY_OTHER = Binary("*", load(A, N * 2), load(B, N))
SHIFTED = Binary("*", load(A, N), load(A, N + 1))
MISMATCHED = {
    "another length": (mac(5), "loop k runs 3 times, n 5"),
    "another operator": (mac(3, SUM_OF_BOTH), "Binary for Binary"),
    "other steps": (mac(3, EVERY_OTHER), "steps differ along k"),
    "a buffer that begins at two positions": (mac(3, SHIFTED), "a begins at two positions"),
    "another element type": (
        instruction(
            For(
                "n",
                3,
                (
                    Accumulate(
                        at(TOTAL), Binary("*", load(Buffer("a", DType.I16, 0, Role.INPUT), N), load(B, N))
                    ),
                ),
            )
        ),
        "x is i8, a i16",
    ),
    "a store for a sum": (instruction(For("n", 3, (Store(at(TOTAL), SUM_OF_BOTH),))), "Accumulate for Store"),
    "more statements": (
        instruction(For("n", 3, (Accumulate(at(TOTAL), SWAPPED), Accumulate(at(TOTAL), SWAPPED)))),
        "1 statements for 2",
    ),
}


@pytest.mark.parametrize(("wrong", "why"), MISMATCHED.values(), ids=MISMATCHED)
def test_another_nest_is_refused_with_the_reason(wrong, why):
    with pytest.raises(ScheduleError) as refused:
        tensorize(dots(2, 3, 3), "k", [wrong])
    assert str(refused.value) == f"no instruction for loop k of dots: mac: {why}"


def test_each_instruction_says_why_it_does_not_match():
    with pytest.raises(ScheduleError) as refused:
        tensorize(dots(2, 3, 3), "k", [mac(4), mac(3, EVERY_OTHER)])
    assert str(refused.value) == (
        "no instruction for loop k of dots: mac: loop k runs 3 times, n 4; mac: steps differ along k"
    )


def test_the_window_of_a_parameter_is_what_stands_in_its_place():
    made = tensorize(dots(2, 3, 3), "k", [mac(3, SWAPPED)])
    assert [w.buffer.name for w in invoked(made)[0].windows] == ["sum", "w", "x"]


def test_a_loop_that_is_not_there_is_refused():
    with pytest.raises(ScheduleError, match=r"^dots has no loop z"):
        tensorize(dots(2, 3, 3), "z", [mac(3)])


def test_a_loop_that_only_stores_may_stay():
    y = Buffer("y", DType.I8, 3, Role.OUTPUT)
    store = For("k", 3, (Store(at(y, K), Const(0)),))
    summing = dots(1, 1, 3).body
    nest = proc_of(store, *summing, params=(y,))
    assert store in tensorize(nest, "k", [mac(3)]).body


def test_windows_move_with_the_loops_outside():
    (call,) = invoked(tensorize(dots(4, 3, 3), "k", [mac(3)]))
    assert call.windows[1].index == PIXEL
    assert call.windows[2].index == CHANNEL * 3 + R * 3
