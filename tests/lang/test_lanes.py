"""Neighbours are computed side by side where an instruction set has lanes; a search finds that by itself."""

from collections.abc import Callable

import numpy as np
import pytest

from aot.errors import InputError
from codegen.lang.outcome import outcome
from codegen.loops.sketches import nest_of
from deploy import lang


def pool(channels: int = 8, op: str = "max", dtype: str | None = "i8", step: int = 1) -> lang.Schedule:
    x = lang.placeholder("x", (6, 7, channels * step), "i8")
    r, t = lang.reduce_axis("r", 2), lang.reduce_axis("t", 2)
    reduced = {"max": lang.max, "min": lang.min, "sum": lang.sum}[op]
    y = lang.compute("y", (5, 6, channels), lambda i, j, c: reduced(x[i + r, j + t, c * step], r, t), dtype)
    return lang.schedule("pool", [x], y, check=True)


def side_by_side(s: lang.Schedule, isa: str, lanes: int, tile: int = 4) -> lang.Schedule:
    _, one = s.split("j", tile)
    s.reorder("c", one)
    _, inner = s.split("c", lanes)
    s.reorder(one, inner)
    s.vectorize(inner, isa)
    s.privatize(one, *s.locals)
    s.reorder("r", "t", one)
    return s


def test_lanes_hold_what_grows_in_elements_of_its_type():
    s = pool()
    s.split("c", 4)
    s.vectorize("c_i", "dsp")
    assert "most_lanes: local(i8[4])" in s.show()
    assert "greater_bytes(most_lanes[0:], x[c_o * 4 + i * 56 + j * 8 + r * 56 + t * 8:])" in s.show()
    assert s.script() == "s.split('c', 4)\ns.vectorize('c_i', 'dsp')\n"


def test_the_rest_of_a_split_is_computed_one_by_one():
    s = side_by_side(pool(channels=6), "dsp", 4)
    assert "= max(most[" in s.show()
    wanted, found = outcome(s.meaning, {}, s.meaning), outcome(s.proc, {}, s.meaning)
    assert np.array_equal(wanted["y"], found["y"])


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "no set": (lambda: pool().vectorize("c", "mmx"), 'no instruction set "mmx" has lanes'),
    "turns": (
        lambda: pool().vectorize("c", "dsp"),
        "s.vectorize('c', 'dsp'): dsp has 4 lanes, c has 8 iterations",
    ),
    "apart": (
        lambda: pool(4, step=2).vectorize("c", "dsp"),
        "s.vectorize('c', 'dsp'): dsp has no instruction",
    ),
    "sums": (
        lambda: pool(4, "sum", None).vectorize("c", "dsp"),
        "s.vectorize('c', 'dsp'): no instruction for loop c of pool",
    ),
    "wider results": (
        lambda: pool(4, "max", None).vectorize("c", "dsp"),
        "s.vectorize('c', 'dsp'): dsp has no instruction for what c does to y",
    ),
    "reduction": (
        lambda: pool(4).vectorize("r", "dsp"),
        "s.vectorize('r', 'dsp'): dsp has 4 lanes, r has 2 iterations",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_no_lanes_compute_is_refused_with_its_line(name):
    ask, what = WRONG[name]
    with pytest.raises(InputError) as caught:
        ask()
    assert caught.value.what.startswith(what)
    assert caught.value.where.startswith(f"{__file__}:")


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize(("board", "isa", "lanes"), [("mps2-an386", "dsp", 4), ("mps3-an547", "helium", 16)])
@pytest.mark.parametrize("op", ["max", "min"])
def test_lanes_run_as_they_mean(board, isa, lanes, op, own_folders):
    for unrolled in (True, False):
        s = side_by_side(pool(lanes + 2, op), isa, lanes)
        if unrolled:
            s.unroll("j_i")
        kernel = lang.build(s, board)
        kernel.verify(2)
        assert ("_lanes[" in kernel.view.c) is not unrolled


def two(op: str, lanes: int) -> lang.Schedule:
    a, b = (lang.placeholder(name, (3, lanes), "i8") for name in "ab")
    both = {"+": lambda i, j: a[i, j] + b[i, j], "-": lambda i, j: a[i, j] - b[i, j]}
    y = lang.compute("y", (3, lanes), both.get(op, lambda i, j: a[i, j] * b[i, j]), "i8")
    return lang.schedule("two", [a, b], y)


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize(
    ("board", "isa", "lanes", "ops"), [("mps2-an386", "dsp", 4, "+-"), ("mps3-an547", "helium", 16, "+-*")]
)
def test_sums_and_differences_lie_in_lanes(board, isa, lanes, ops, own_folders):
    a = np.arange(-lanes, 2 * lanes, dtype=np.int8).reshape(3, lanes)
    b = np.full((3, lanes), 3, np.int8)
    for op in ops:
        s = two(op, lanes)
        s.vectorize("j", isa)
        found = lang.build(s, board)(a, b)
        assert np.array_equal(found, {"+": a + b, "-": a - b, "*": a * b}[op])


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize(("board", "isa", "lanes"), [("mps2-an386", "dsp", 4), ("mps3-an547", "helium", 16)])
def test_bits_of_bytes_lie_in_lanes(board, isa, lanes, own_folders):
    a, b = (lang.placeholder(name, (lanes,), "i8") for name in "ab")
    s = lang.schedule("bits", [a, b], [a & b, a | b, a ^ b])
    for loop in (*s.loops,):
        s.vectorize(loop, isa)
    x, z = np.arange(-lanes, lanes, 2, dtype=np.int8), np.arange(lanes, dtype=np.int8) * 7
    for found, wanted in zip(lang.build(s, board)(x, z), (x & z, x | z, x ^ z), strict=True):
        assert np.array_equal(found, wanted)


def test_products_of_bytes_are_refused_where_words_have_none():
    with pytest.raises(InputError, match="dsp has no instruction for what j does to y"):
        two("*", 4).vectorize("j", "dsp")


def test_only_nests_that_the_core_has_lanes_for_are_searched_with_them():
    from codegen.isa.dsp.isa import LANES

    nest = nest_of(pool().proc, LANES)
    assert nest is not None
    assert nest.open_numbers["lanes"] == (1, 4)
    assert not nest.allows({"i": 1, "j": 1, "c": 4, "order": 1, "lanes": 4, "turns": 1})  # of two vectors


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_a_search_of_a_pool_finds_lanes(own_folders):
    found = lang.search(pool(), "mps2-an386", 32, tuner="ga", seed=1)
    assert found.failed == 0
    assert "'dsp')" in found.schedule.script()
    assert found.speedup > 2.5
