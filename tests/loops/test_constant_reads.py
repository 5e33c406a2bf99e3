"""Reads of constants behind a cache: each line that is waited for can be counted on paper."""

import pytest

from aot.ir.types import DType
from aot.line_cache import LineCache
from codegen.loops.affine import variable
from codegen.loops.constant_reads import ConstantReads, ReadLines
from codegen.loops.ir import Accumulate, Buffer, For, Instruction, Invoke, Proc, Role, Stmt, at, load

LINE = 16  # bytes
W = Buffer("w", DType.I8, 64, Role.CONSTANT)  # four lines
B = Buffer("b", DType.I32, 8, Role.CONSTANT)  # two
Y = Buffer("y", DType.I32, 64, Role.OUTPUT)
X = variable("x")


def missed(*body: Stmt, lines: int = 1, runs: int = 1, w_begins: int = 0) -> list[int]:
    proc = Proc("f", (Y, W, B), body)
    followed = ConstantReads(proc, {"w": w_begins, "b": 1024}, ReadLines(LINE, LineCache(1, lines)))
    return [followed.missed() for _ in range(runs)]


def of_w(extent: int = 64) -> For:
    return For("i", extent, (Accumulate(at(Y), load(W, variable("i"))),))


def test_each_line_of_a_row_is_waited_for_once():
    assert missed(of_w()) == [4]


def test_what_begins_within_a_line_lies_in_one_more():
    assert missed(of_w(), w_begins=12) == [5]


def test_a_loop_around_reads_all_again_where_the_cache_is_too_small():
    assert missed(For("x", 10, (of_w(),)), lines=3) == [40]


def test_a_loop_around_reads_once_what_stays_in_the_cache():
    assert missed(For("x", 10, (of_w(),)), lines=4) == [4]


def test_a_second_run_finds_what_the_first_has_left():
    assert missed(of_w(), lines=4, runs=2) == [4, 0]
    assert missed(of_w(), lines=2, runs=2) == [4, 4]


def test_the_line_at_hand_is_read_again_without_the_cache():
    one = For("i", 16, (Accumulate(at(Y), load(W, 0)),))
    assert missed(one) == [1]


def test_two_constants_in_turns_throw_each_other_out():
    both = For("i", 8, (Accumulate(at(Y), load(W, variable("i"))), Accumulate(at(Y), load(B, variable("i")))))
    assert missed(both) == [8 + 8]
    assert missed(both, lines=2) == [1 + 2]


def test_loops_that_read_no_constant_are_not_followed():
    endless = For("x", 1 << 60, (Accumulate(at(Y), load(Y, 0)),))
    assert missed(endless) == [0]


def test_a_loop_without_turns_reads_nothing():
    assert missed(For("x", 0, (of_w(),))) == [0]


@pytest.mark.parametrize(("times", "lines"), [(1, 2), (2, 4)])
def test_an_instruction_reads_its_window_once_however_often_its_meaning_does(times, lines):
    """The meaning has a loop over pixels around the one over weights; the code loads each weight once."""
    window = Buffer("v", DType.I8, 0, Role.CONSTANT)
    sums = Buffer("s", DType.I32, 1, Role.OUTPUT)
    inner = For("k", 32, (Accumulate(at(sums), load(window, variable("k"))),))
    dot = Instruction("dot", (sums, window), (For("p", 3, (inner,)),), "", "")
    calls = For("x", times, (Invoke(dot, (at(Y), at(W, X * 32))),))
    assert missed(calls) == [lines]


def test_an_instruction_made_of_another_reads_what_that_one_reads():
    window = Buffer("v", DType.I8, 0, Role.CONSTANT)
    sums = Buffer("s", DType.I32, 1, Role.OUTPUT)
    body = (For("k", 16, (Accumulate(at(sums), load(window, variable("k"))),)),)
    half = Instruction("half", (sums, window), body, "", "")
    whole_body = (For("h", 2, (Invoke(half, (at(sums), at(window, variable("h") * 32))),)),)
    whole = Instruction("whole", (sums, window), whole_body, "", "")
    assert missed(Invoke(whole, (at(Y), at(W)))) == [2], "lines 0 and 2"
