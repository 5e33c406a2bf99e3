"""A schedule keeps what a proc means, remembers its steps, and refuses what it cannot do."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aot.errors import InputError
from codegen.lang.outcome import outcome
from codegen.loops.ir import Proc
from codegen.loops.schedule import split
from deploy import lang

MULTIPLY = lang.instruction(
    """
    def multiply(acc: local(i32[1]), x: input(i8[2]), w: constant(i8[2])):
        for i in range(2):
            acc[0] += x[i] * w[i]
    """,
    call="{acc[0]} += {x}[0] * {w}[0] + {x}[1] * {w}[1];",
)


def product(rows: int = 4, columns: int = 6, length: int = 8, check: bool = True) -> lang.Schedule:
    x = lang.placeholder("x", (rows, length), "i8")
    w = lang.placeholder("w", (columns, length), "i8", constant=True)
    k = lang.reduce_axis("k", length)
    c = lang.compute("c", (rows, columns), lambda i, j: lang.sum(x[i, k] * w[j, k], k))
    return lang.schedule("product", [x, w], c, check)


def means_the_same(s: lang.Schedule) -> bool:
    wanted = outcome(s.meaning, {}, s.meaning)
    found = outcome(s.proc, s.packings, s.meaning)
    return all((wanted[name] == found[name]).all() for name in wanted)


def test_loops_and_buffers_have_names():
    s = product()
    assert dict(s.loops) == {"i": 4, "j": 6, "k": 8}
    assert s.buffers == ("x", "w", "c", "sum")
    assert s.split("j", 2) == ("j_o", "j_i")
    assert list(s.loops) == ["i", "j_o", "j_i", "k"]
    assert repr(s) == "<Schedule of product, 1 steps>"


def tiled(s: lang.Schedule, rows: int = 2, columns: int = 2) -> lang.Schedule:
    _, _, ii, ji = s.tile("i", "j", rows, columns)
    s.privatize(ji, "sum")
    s.privatize(ii, "sum")
    s.reorder("k", ii, ji)
    return s


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 4), st.integers(1, 4))
def test_a_tile_keeps_the_meaning_whatever_its_sizes(rows, columns, a, b):
    s = tiled(product(rows, columns, 3), min(a, rows), min(b, columns))
    assert means_the_same(s)
    sums = re.findall(r"sum: local\(i32\[(\d+)\]\)", s.show())
    assert int(sums[0]) == min(a, rows) * min(b, columns)


def test_one_factor_may_be_left_open():
    s = product()
    s.split("j", (None, 2))
    assert s.loops["j_o"] == 3
    s = product()
    s.split("j", (2, None))
    assert (s.loops["j_o"], s.loops["j_i"]) == (2, 3)


def test_loops_are_fused_partitioned_and_unrolled():
    s = product()
    outer, inner = s.split("k", 4)
    assert s.fuse(outer, inner) == "k_o_k_i"
    assert s.partition("i", 1) == ("i_a", "i_b")
    s.unroll("k_o_k_i", 4)
    assert "for k_o_k_i_one in unrolled(4):" in s.show()
    assert means_the_same(s)


def test_any_order_of_nested_loops_is_reached():
    s = tiled(product())
    for order in (("j_i", "k", "i_i"), ("i_i", "j_i", "k"), ("k", "j_i", "i_i")):
        s.reorder(*order)
        at = [s.show().rindex(f"for {loop} in") for loop in order if s.show().count(f"for {loop} in") == 1]
        assert at == sorted(at)
        assert means_the_same(s)


def test_what_is_read_is_copied_first():
    s = tiled(product())
    near = s.cache_read("x", "i_o")
    assert near == "x_near"
    assert "x_near: local(i8[16])" in s.show()
    s.cache_read("w", "k")
    assert "w_near: local(i8[9])" in s.show()
    assert means_the_same(s)


def test_constants_are_packed_as_they_are_walked():
    s = tiled(product())
    s.pack("w", "i_o", "j_o", "k", "j_i")
    assert "w[j_i + j_o * 16 + k * 2]" in s.show()
    assert s.packings["w"].source[:4] == (0, 8, 1, 9)
    assert means_the_same(s)


def test_an_instruction_takes_the_place_of_its_meaning():
    s = product()
    _, two = s.split("k", 2)
    s.tensorize(two, MULTIPLY)
    assert "multiply(sum[0:], x[i * 8 + k_o * 2:], w[j * 8 + k_o * 2:])" in s.show()
    assert means_the_same(s)


def test_steps_are_reported_as_python_and_done_again_on_another_shape():
    s = tiled(product())
    s.unroll("k", 2)
    assert s.script() == (
        "s.split('i', 2)\ns.reorder('j', 'i_i')\ns.split('j', 2)\ns.reorder('i_i', 'j_i')\n"
        "s.privatize('j_i', 'sum')\ns.privatize('i_i', 'sum')\ns.reorder('k', 'i_i', 'j_i')\n"
        "s.unroll('k', 2)\n"
    )
    other = s.replay(product(6, 4, 10))
    assert other.script() == s.script()
    assert means_the_same(other)
    assert other.shapes == {"x": (6, 10), "w": (4, 10), "c": (6, 4)}
    known: dict[str, object] = {"s": product()}
    exec(s.script(), known)
    assert known["s"].proc == s.proc  # type: ignore[attr-defined]


def test_a_schedule_of_a_text_has_flat_buffers():
    s = lang.Schedule(lang.parse(product().show()), check=True)
    s.unroll("k")
    assert s.shapes == {}
    assert means_the_same(s)


# What is asked of the product, and what is said of it.
WRONG: dict[str, tuple[Callable[[lang.Schedule], object], str]] = {
    "no_loop": (lambda s: s.split("z", 2), "product has no loop z"),
    "no_loop_to_unroll": (lambda s: s.unroll("z"), "s.unroll('z'): product has no loop z"),
    "factor": (lambda s: s.split("k", 0), "0 is not a factor of k: it must be at least 1"),
    "more_than_there_is": (lambda s: s.split("i", 5), "i has 4 iterations, fewer than a factor of 5"),
    "no_factor": (lambda s: s.split("k", (None, None)), "(None, None) is not a factor of k"),
    "order": (
        lambda s: s.reorder("k", "i"),
        "s.reorder('k', 'i'): these loops are not perfectly nested",
    ),
    "sums": (
        lambda s: s.fuse("i", "k"),
        "s.fuse('i', 'k'): loop k must be the only statement of loop i",
    ),
    "partition": (
        lambda s: s.partition("k", 8),
        "s.partition('k', 8): partition of k at 8 must be inside its 8 values",
    ),
    "no_constant": (lambda s: s.pack("x", "i"), "x is not a constant of product"),
    "pack_order": (
        lambda s: s.pack("w", "j"),
        "s.pack('w', 'j'): packing w: its index depends on ['k'], which the order lacks",
    ),
    "output": (
        lambda s: s.cache_read("c", "i"),
        "s.cache_read('c', 'i'): product has no input or constant c",
    ),
    "meaning": (
        lambda s: s.tensorize("k", MULTIPLY),
        "s.tensorize('k', multiply): no instruction for loop k of product: ",
    ),
    "padding": (
        lambda s: s.pad_reduction("i", 3, "w"),
        "s.pad_reduction('i', 3, 'w'): loop i must only add up integers to be extended",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_done_is_refused_with_its_line(name):
    ask, what = WRONG[name]
    s = product()
    before = s.proc
    with pytest.raises(InputError) as caught:
        ask(s)
    assert caught.value.what.startswith(what)
    assert caught.value.where.startswith(f"{__file__}:")
    assert (s.proc, s.trace) == (before, ())


def test_a_constant_may_be_packed_twice():
    s = product(check=True)
    s.pack("w", "j", "k")
    s.split("k", 2)
    s.pack("w", "k_o", "j", "k_i")
    assert "w[" in s.show()


def test_a_lengthened_sum_has_zeros_and_stays_inside():
    x = lang.placeholder("x", (2, 8), "i8")
    w = lang.placeholder("w", (3, 6), "i8", constant=True)
    k = lang.reduce_axis("k", 6)
    y = lang.compute("y", (2, 3), lambda i, j: lang.sum(x[i, k] * w[j, k], k))
    s = lang.schedule("product", [x, w], y, check=True)
    s.pad_reduction("k", 4, "w")
    s.split("k", 4)
    assert s.loops["k_o"] == 2
    ones = np.arange(1, 19, dtype=np.int8).reshape(3, 6)
    assert s.stored({"w": ones})["w"].tolist()[:9] == [1, 2, 3, 4, 5, 6, 0, 0, 7]
    s = lang.schedule(
        "tight",
        [tight_x := lang.placeholder("x", (2, 6), "i8"), w],
        lang.compute("y", (2, 3), lambda i, j: lang.sum(tight_x[i, k] * w[j, k], k)),
    )
    with pytest.raises(InputError, match="x has 12 elements, and element 13 would be read"):
        s.pad_reduction("k", 4, "w")


def test_a_step_that_changes_the_meaning_is_caught_where_steps_are_checked(monkeypatch):
    def forgetful(proc: Proc, var: str, factor: int, outer: str, inner: str) -> Proc:
        made = split(proc, var, factor, outer, inner)
        return Proc(made.name, made.params, made.body[:1])  # without the rest of the split

    monkeypatch.setattr("codegen.loops.schedule.split", forgetful)
    product(check=False).split("i", 3)
    with pytest.raises(InputError, match=r"s\.split\('i', 3\) changes what product computes"):
        product(check=True).split("i", 3)
