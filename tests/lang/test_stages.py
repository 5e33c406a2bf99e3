"""Tensors between nests go where they are read, and results are written near first."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aot.errors import InputError
from codegen.lang.outcome import outcome
from codegen.loops.ir import Role
from deploy import lang


def means_the_same(s: lang.Schedule) -> bool:
    wanted, found = outcome(s.meaning, {}, s.meaning), outcome(s.proc, s.packings, s.meaning)
    return all((wanted[name] == found[name]).all() for name in wanted)


def room(s: lang.Schedule) -> dict[str, int]:
    """The elements of each tensor between nests."""
    return {p.name: p.elements for p in s.proc.params if p.role is Role.SCRATCH}


def pool(height: int = 8, width: int = 7, channels: int = 3, window: int = 3) -> lang.Schedule:
    """Maxima of windows: of columns first, then of what lies beside each other."""
    x = lang.placeholder("x", (height, width, channels), "i8")
    r, t = lang.reduce_axis("r", window), lang.reduce_axis("t", window)
    rows, columns = height - window + 1, width - window + 1
    column = lang.compute(
        "column", (rows, width, channels), lambda i, j, c: lang.max(x[i + r, j, c], r), "i8"
    )
    y = lang.compute("y", (rows, columns, channels), lambda i, j, c: lang.max(column[i, j + t, c], t), "i8")
    return lang.schedule("pool", [x], y, check=True)


def centred(stored: bool = False) -> lang.Schedule:
    x, k = lang.placeholder("x", (6, 8), "i8"), lang.reduce_axis("k", 8)
    twice = lang.compute("twice", (6, 8), lambda i, j: x[i, j] * 2, "i16", stored=stored)
    total = lang.compute("total", (6,), lambda i: lang.sum(twice[i, k], k))
    y = lang.compute("y", (6, 8), lambda i, j: twice[i, j] * 8 - total[i])
    return lang.schedule("centred", [x], y, check=True)


def test_tensors_are_blocks_with_loops_of_their_own():
    assert dict(centred(stored=True).blocks) == {
        "twice": ("i", "j"),
        "total": ("i2",),
        "y": ("i3", "j2"),
    }


def test_a_tensor_is_made_where_it_is_read_and_takes_less_room():
    s = pool()
    s.compute_at("column", "i2")
    assert room(s) == {"column": 7 * 3}
    assert list(s.loops)[:2] == ["i2", "i"]
    assert "column_most: local(i32[1])" in s.show()
    s = pool()
    s.compute_at("column", "j2")  # columns that windows share are made again
    assert room(s) == {"column": 3 * 3}
    s = pool(channels=4)
    s.split("c2", 2)
    s.compute_at("column", "c2_o")
    assert room(s) == {"column": 3 * 2}


@settings(max_examples=15, deadline=None)
@given(
    st.integers(3, 7), st.integers(1, 3), st.integers(1, 4), st.sampled_from(["i2_o", "i2_i", "j2_o", "j2_i"])
)
def test_wherever_it_is_made_the_meaning_stays(height, channels, factor, loop):
    s = pool(height, 5, channels, 2)
    s.split("i2", min(factor, height - 1))
    s.split("j2", min(factor, 4))
    if loop not in s.loops:
        return
    has_rest = f"{loop}_tail" in s.loops
    if has_rest:
        with pytest.raises(InputError, match="column is read outside of loop"):
            s.compute_at("column", loop)
        return
    s.compute_at("column", loop)
    assert means_the_same(s)
    assert room(s)["column"] <= (height - 1) * 5 * channels


def test_a_reader_goes_into_the_loop_of_what_it_reads():
    s = pool()
    s.reverse_compute_at("y", "i")
    assert room(s) == {"column": 7 * 3}
    assert s.script() == "s.reverse_compute_at('y', 'i')\n"
    s = centred()
    s.split("i", 2)
    s.reverse_compute_at("y", "i_o")
    assert room(s) == {"total": 2}
    assert s.loops["i2"] == 2


def test_a_tensor_without_sums_is_computed_where_it_is_read():
    s = centred(stored=True)
    assert room(s) == {"twice": 48, "total": 6}
    s.compute_inline("twice")
    assert room(s) == {"total": 6}
    assert "total_" not in s.show()
    assert "i16(x[i2 * 8 + k] * 2)" in s.show()
    assert "twice" not in s.show()


def test_a_tensor_of_one_element_is_computed_where_it_is_read():
    s = of_text(ONE_ELEMENT)
    s.compute_inline("b")
    assert "b" not in room(s)


def test_steps_on_tensors_are_done_again_on_another_shape():
    s = pool()
    s.split("j2", 5)
    s.compute_at("column", "i2")
    s.cache_write("y", "i2")
    other = s.replay(pool(6, 12, 2))
    assert other.script() == s.script()
    assert room(other) == {"column": 12 * 2}
    assert means_the_same(other)


def test_results_are_written_near_and_copied_out():
    s = centred()
    name = s.cache_write("y", "i2")
    assert name == "y_near"
    assert "y_near: local(i32[8])" in s.show()
    assert "y[i2 * 8 + y_near_j] = y_near[y_near_j]" in s.show()
    s = lang.Schedule(
        lang.parse(
            "def sums(x: input(i8[24]), y: output(i32[4])):\n"
            "    for i in range(4):\n"
            "        y[i] = 0\n"
            "        for k in range(6):\n"
            "            y[i] += x[k + i * 6]\n"
        ),
        check=True,
    )
    s.cache_write("y", "k")  # a turn goes on with what was there
    assert "y_near[0] = y[i]" in s.show()
    s.decompose_reduction("i")
    assert s.show().index("for i_begin in range(4)") < s.show().index("for i in range(4)")


def test_what_begins_sums_becomes_a_loop_before_them():
    s = centred()
    assert s.decompose_reduction("i") == "i_begin"
    assert "sum: local(i32[6])" in s.show()
    assert means_the_same(s)


def test_a_loop_is_written_out_within_a_budget():
    s = centred()
    s.unroll("k", statements=4)
    assert "for k_by_4 in range(2)" in s.show()
    assert s.script() == "s.unroll('k', statements=4)\n"
    s.unroll("j", statements=100)
    assert "for j in unrolled(8)" in s.show()


def test_a_note_stands_above_its_loop():
    s = centred()
    s.annotate("i2", "Rows, less their means.")
    assert "for i2 in range(6, note='Rows, less their means.'):" in s.show()
    assert lang.parse(s.show()) == s.proc


SHIFTED = """\
def shifted(x: input(i8[9]), z: scratch(i8[9]), y: output(i8[8])):
    for i in range(9):
        z[i] = x[i]
    for i2 in range(8):
        y[i2] = z[i2 + 1]
"""
OVERWRITTEN = """\
def overwritten(x: input(i8[4]), a: scratch(i8[4]), b: scratch(i8[4]), y: output(i8[4])):
    for i in range(4):
        a[i] = x[i]
    for i2 in range(4):
        b[i2] = a[i2]
    for i3 in range(4):
        a[i3] = 1
    for i4 in range(4):
        y[i4] = b[i4]
"""
ONE_ELEMENT = """\
def one_element(x: input(i8[4]), b: scratch(i8[1]), y: output(i8[1])):
    b[0] = x[3]
    y[0] = b[0]
"""
RUNNING = """\
def running(x: input(i8[4]), a: scratch(i32[4]), y: output(i32[5])):
    for i in range(4):
        a[i] = x[i]
    for i2 in range(4):
        for j in range(2):
            for k in range(2):
                y[i2 + k] = a[i2] + index(j)
"""


SEVERAL = """\
def several(x: input(i8[8]), y: output(i8[5])):
    for i in range(2):
        for j in range(4):
            for k in range(2):
                y[j + k] = x[j + i * 4]
"""


def vectorized() -> lang.Schedule:
    s = pool(channels=4)
    s.vectorize("c", "dsp")
    return s


def of_text(text: str) -> lang.Schedule:
    return lang.Schedule(lang.parse(text))


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "no tensor": (
        lambda: pool().compute_at("z", "i2"),
        "s.compute_at('z', 'i2'): pool has no tensor z between its nests: known: column",
    ),
    "an instruction": (
        lambda: vectorized().compute_at("column", "i2"),
        "s.compute_at('column', 'i2'): column is computed at several positions of its nest, or by an "
        "instruction",
    ),
    "no loop": (
        lambda: pool().compute_at("column", "q"),
        "s.compute_at('column', 'q'): column is read outside",
    ),
    "its own loop": (
        lambda: pool().compute_at("column", "i"),
        "s.compute_at('column', 'i'): column is read out",
    ),
    "two readers": (
        lambda: centred(stored=True).compute_at("twice", "i2"),
        "s.compute_at('twice', 'i2'): twice is read outside of loop i2 too",
    ),
    "sums": (
        lambda: pool().compute_inline("column"),
        "s.compute_inline('column'): column contains a sum, so it cannot be inlined",
    ),
    "overwritten": (
        lambda: of_text(OVERWRITTEN).compute_inline("b"),
        "s.compute_inline('b'): a, from which b is computed, is written again after it",
    ),
    "shifted": (
        lambda: of_text(SHIFTED).reverse_compute_at("y", "i"),
        "s.reverse_compute_at('y', 'i'): an iteration of i does not compute all of z that y needs",
    ),
    "too early": (
        lambda: pool().reverse_compute_at("y", "j"),
        "s.reverse_compute_at('y', 'j'): an iteration of j does not compute all of column that y needs",
    ),
    "several sources": (
        lambda: centred(stored=True).reverse_compute_at("y", "i2"),
        "s.reverse_compute_at('y', 'i2'): y reads 2 tensors of other nests, at 2 positions: only one is "
        "supported",
    ),
    "no result": (lambda: pool().cache_write("x", "i"), "s.cache_write('x', 'i'): pool has no result x"),
    "not written there": (
        lambda: pool().cache_write("y", "i"),
        "s.cache_write('y', 'i'): no loop i of pool writes y",
    ),
    "written again": (
        lambda: of_text(RUNNING).reverse_compute_at("y", "i"),
        "s.reverse_compute_at('y', 'i'): y[i2 + k] is not one element for each turn of its loops",
    ),
    "several turns": (
        lambda: lang.Schedule(lang.parse(SEVERAL)).cache_write("y", "i"),
        "s.cache_write('y', 'i'): y[j + k] is the same element in several iterations",
    ),
    "nothing begins": (
        lambda: pool().decompose_reduction("r"),
        "s.decompose_reduction('r'): loop r does not start with a value that it continues",
    ),
    "budget": (
        lambda: centred().unroll("i", statements=2),
        "s.unroll('i', statements=2): an iteration of i has 3 statements, more than 2",
    ),
    "two words": (lambda: centred().unroll("k", 2, 8), "unroll accepts times or statements, not both"),
    "note": (
        lambda: centred().annotate("k", "ends */ here"),
        "s.annotate('k', 'ends */ here'): the note 'ends */ here' does not fit a one-line C comment",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_done_is_refused_with_its_line(name):
    ask, what = WRONG[name]
    with pytest.raises(InputError) as caught:
        ask()
    assert caught.value.what.startswith(what)
    assert caught.value.where.startswith(f"{__file__}:")


@pytest.mark.cc
def test_what_was_moved_runs(own_folders):
    s = pool()
    s.compute_at("column", "i2")
    s.cache_write("y", "j2")
    s.annotate("i2", "Columns that windows share are made once.")
    kernel = lang.build(s, "host")
    kernel.verify()
    assert "/* Columns that windows share are made once. */" in kernel.view.c
    x = np.random.default_rng(1).integers(-128, 128, (8, 7, 3), np.int8)
    wanted = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (0, 1)).max((3, 4))
    assert np.array_equal(kernel(x), wanted)
