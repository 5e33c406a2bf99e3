"""No schedule primitive changes what a nest computes, whatever its extents; what would, is refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nests import CHANNEL, PIXEL, K, R, dots, mean_the_same, numbered, proc_of

from aot.ir.types import DType
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Accumulate,
    Buffer,
    Const,
    Declare,
    For,
    Index,
    Role,
    Store,
    at,
    load,
    walk,
)
from codegen.loops.schedule import (
    ScheduleError,
    expand_unrolled,
    fuse,
    pad_reduction,
    partition,
    privatize,
    reorder,
    split,
    unroll,
)

EXTENTS = st.integers(1, 7)
FACTORS = st.integers(1, 5)
FEW = settings(max_examples=30, deadline=None)

X = Buffer("x", DType.I8, 12, Role.INPUT)
Y = Buffer("y", DType.I8, 12, Role.OUTPUT)
SUM = Buffer("sum", DType.I32, 1, Role.LOCAL)


@FEW
@given(extent=EXTENTS, factor=FACTORS, var=st.sampled_from("opk"))
def test_split_keeps_the_meaning(extent, factor, var):
    nest = dots(*(extent if v == var else 2 for v in "opk"))
    assert mean_the_same(nest, split(nest, var, factor, "outer", "inner"))


def test_split_leaves_the_rest_to_a_tail_of_the_same_shape():
    body = split(proc_of(For("k", 7, (Store(at(Y, K), load(X, K)),))), "k", 3, "ko", "ki").body
    assert [(loop.var, loop.extent, loop.body[0].var, loop.body[0].extent) for loop in body] == [  # type: ignore[union-attr]
        ("ko", 2, "ki", 3),
        ("ko_tail", 1, "ki", 1),
    ]


@FEW
@given(extent=st.integers(2, 7), at_=st.integers(1, 6), var=st.sampled_from("opk"))
def test_partition_keeps_the_meaning(extent, at_, var):
    nest = dots(*(extent if v == var else 2 for v in "opk"))
    assert mean_the_same(nest, partition(nest, var, min(at_, extent - 1), "first", "second"))


@FEW
@given(rows=EXTENTS, columns=EXTENTS)
def test_fuse_keeps_the_meaning(rows, columns):
    nest = numbered(rows, columns)
    fused = fuse(nest, "r", "k", "every")
    assert mean_the_same(nest, fused)
    assert [s.var for s in walk(fused.body) if isinstance(s, For)] == ["every"]


@FEW
@given(channels=EXTENTS, pixels=EXTENTS, length=EXTENTS, rows=st.integers(1, 3))
def test_reorder_keeps_the_meaning(channels, pixels, length, rows):
    nest = dots(channels, pixels, length, rows)
    assert mean_the_same(nest, reorder(reorder(nest, "o", "p"), "r", "k"))


def test_reorder_leaves_a_tail_without_the_inner_loop_alone():
    nest = proc_of(For("o", 2, (Store(at(Y, CHANNEL), load(X, CHANNEL)),)))
    assert reorder(nest, "o", "k") == nest


@FEW
@given(extent=EXTENTS, var=st.sampled_from("opk"))
def test_unroll_keeps_the_meaning(extent, var):
    nest = dots(*(extent if v == var else 2 for v in "opk"))
    unrolled = unroll(nest, var)
    written_out = proc_of(*expand_unrolled(unrolled.body), params=nest.params)
    assert mean_the_same(nest, unrolled)
    assert mean_the_same(nest, written_out)
    assert var not in [s.var for s in walk(written_out.body) if isinstance(s, For) and s.extent > 1]


@FEW
@given(extent=EXTENTS, var=st.sampled_from("op"))
def test_privatize_keeps_the_meaning(extent, var):
    nest = dots(*(extent if v == var else 2 for v in "opk"))
    inner_first = reorder(nest, "o", "p") if var == "o" else nest
    assert mean_the_same(nest, privatize(inner_first, ["sum"], var))


@FEW
@given(
    channels=EXTENTS, pixels=EXTENTS, length=EXTENTS, rows=st.integers(1, 2), tile=st.tuples(FACTORS, FACTORS)
)
def test_a_register_tile_keeps_the_meaning(channels, pixels, length, rows, tile):
    """The primitives together, as the kernels use them: whole tiles, tails in both directions, corners."""
    nest = dots(channels, pixels, length, rows)
    tiled = reorder(split(nest, "o", tile[0], "ob", "oi"), "oi", "p")
    tiled = split(tiled, "p", tile[1], "pb", "pi")
    for var in ("oi", "pi"):
        tiled = unroll(privatize(tiled, ["sum"], var), var)
    for outer in ("oi", "pi"):
        for inner in ("r", "k"):
            tiled = reorder(tiled, outer, inner)
    assert mean_the_same(nest, tiled)


def padded_length(extent: int, multiple: int) -> int:
    return -(-extent // multiple) * multiple


@FEW
@given(length=EXTENTS, multiple=FACTORS)
def test_pad_reduction_lengthens_to_a_multiple(length, multiple):
    loop = For("k", length, (Accumulate(at(SUM), load(X, K)),))
    (padded,) = pad_reduction(proc_of(loop), "k", multiple, zeros="x").body
    assert (padded.var, padded.extent, padded.body) == ("k", padded_length(length, multiple), loop.body)  # type: ignore[union-attr]


def test_every_primitive_acts_on_all_loops_of_the_name():
    tailed = split(dots(5, 2, 3), "o", 2, "ob", "oi")
    both = [s for s in walk(unroll(tailed, "oi").body) if isinstance(s, For) and s.var == "oi"]
    assert [loop.unrolled for loop in both] == [True, True]


STORE_K = Store(at(Y, K), load(X, K))
# What is asked for -> why it is refused.
REFUSED = {
    "a loop that is not there": (
        lambda: unroll(proc_of(For("k", 3, (STORE_K,))), "z"),
        "nest has no loop z",
    ),
    "a part beyond the end": (
        lambda: partition(proc_of(For("k", 3, (STORE_K,))), "k", 3, "a", "b"),
        "partition of k at 3 must be inside its 3 values",
    ),
    "an empty part": (
        lambda: partition(proc_of(For("k", 3, (STORE_K,))), "k", 0, "a", "b"),
        "partition of k at 0 must be inside its 3 values",
    ),
    "a split into nothing": (
        lambda: split(proc_of(For("k", 3, (STORE_K,))), "k", 0, "ko", "ki"),
        "split of k by 0: the factor must be at least 1",
    ),
    "a split whose new loop hides another": (
        lambda: split(
            proc_of(For("r", 2, (For("k", 3, (Store(at(Y, R * 3 + K), load(X, K)),)),))), "k", 2, "r", "i"
        ),
        "nest already has a loop r",
    ),
    "a split whose tail hides another": (
        lambda: split(proc_of(For("a_tail", 2, (For("k", 3, (STORE_K,)),))), "k", 2, "a", "b"),
        "nest already has a loop a_tail",
    ),
    "a partition that hides another loop": (
        lambda: partition(proc_of(For("r", 2, (For("k", 3, (STORE_K,)),))), "k", 2, "r", "s"),
        "nest already has a loop r",
    ),
    "fusing loops with something between them": (
        lambda: fuse(dots(2, 3, 4), "p", "k", "all"),
        "loop k must be the only statement of loop p",
    ),
    "fusing loops that do not walk as one": (
        lambda: fuse(
            proc_of(For("r", 2, (For("k", 3, (Store(at(Y, R * 4 + K), load(X, K)),)),))), "r", "k", "all"
        ),
        "y does not walk r and k as one loop",
    ),
    "fusing loops whose number is used": (
        lambda: fuse(
            proc_of(For("r", 2, (For("k", 3, (Store(at(Y, R * 3 + K), Index(R)),)),))), "r", "k", "all"
        ),
        "a number does not walk r and k as one loop",
    ),
    "changing the order of stores to one place": (
        lambda: reorder(proc_of(For("r", 2, (For("k", 3, (Store(at(Y, R), load(X, K)),)),))), "r", "k"),
        "loop k writes y at the same position in all iterations",
    ),
    "private copies that are written to one place": (
        lambda: privatize(
            proc_of(For("k", 3, (Declare(SUM), Store(at(SUM), load(X, K)), Store(at(Y, 0), load(SUM))))),
            ["sum"],
            "k",
        ),
        "loop k writes y at the same position in all iterations",
    ),
    "one of two locals made private": (
        lambda: privatize(
            proc_of(
                For(
                    "k",
                    3,
                    (
                        Declare(SUM),
                        Declare(Buffer("other", DType.I32, 1, Role.LOCAL)),
                        Store(at(SUM), load(X, K)),
                        Store(at(Y, K), load(SUM)),
                    ),
                )
            ),
            ["sum"],
            "k",
        ),
        "loop k also declares other, which would be shared",
    ),
    "lengthening a loop that stores": (
        lambda: pad_reduction(proc_of(For("k", 3, (STORE_K,))), "k", 4, zeros="x"),
        "loop k must only accumulate to be extended",
    ),
    "lengthening a sum that has no zeros": (
        lambda: pad_reduction(proc_of(For("k", 3, (Accumulate(at(SUM), load(X, K)),))), "k", 4, zeros="w"),
        "a sum in loop k does not read w",
    ),
}


@pytest.mark.parametrize(("ask", "why"), REFUSED.values(), ids=REFUSED)
def test_what_would_change_the_meaning_is_refused(ask, why):
    with pytest.raises(ScheduleError) as refused:
        ask()
    assert str(refused.value) == why


def test_a_local_of_the_body_may_be_stored_to_in_any_order():
    body = (Declare(SUM), Store(at(SUM), Const(1)), Store(at(Y, PIXEL * 2 + CHANNEL), load(SUM)))
    nest = proc_of(For("o", 2, (For("p", 3, body),)), params=(Y,))
    assert mean_the_same(nest, reorder(nest, "o", "p"))


def test_variables_stay_apart_when_a_name_is_part_of_another():
    nest = numbered(3, 4)
    assert mean_the_same(nest, split(nest, "k", 3, "kk", "k1"))
    assert variable("k").substitute({"kk": 5}) == variable("k")
