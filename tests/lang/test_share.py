"""What windows of neighbours have in common is reduced once: the same numbers, fewer comparisons and sums."""

from collections.abc import Callable

import pytest

from aot.errors import InputError
from codegen.loops.ir import Accumulate, Store, walk
from codegen.loops.sketches import apply, nest_of
from deploy import lang


def pool(op: str = "max", window: int = 3, stride: int = 1, dtype: str = "i8") -> lang.Schedule:
    x = lang.placeholder("x", (4, 9, 2), dtype)
    r, t = lang.reduce_axis("r", 3), lang.reduce_axis("t", window)
    size = (9 - window) // stride + 1
    reduced = {"max": lang.max, "min": lang.min, "sum": lang.sum}[op]
    y = lang.compute("y", (2, size, 2), lambda i, j, c: reduced(x[i + r, j * stride + t, c], r, t))
    return lang.schedule("pool", [x], y, check=True)


def tiled(s: lang.Schedule, factor: int) -> lang.Schedule:
    s.reorder("c", "i", "j")
    s.split("j", factor)
    s.privatize("j_i", *s.locals)
    s.reorder("r", "t", "j_i")
    return s


@pytest.mark.parametrize("op", ["max", "min", "sum"])
@pytest.mark.parametrize(("window", "stride"), [(3, 1), (3, 2), (5, 3)])
def test_columns_of_neighbouring_windows_are_reduced_once(op, window, stride):
    s = tiled(pool(op, window, stride), 2)
    assert s.share("j_i", "t") == "j_i_t"  # each step is run in the loop interpreter
    assert s.loops["j_i_t"] == stride + window
    assert s.script().endswith("s.share('j_i', 't')\n")


def test_a_tile_of_two_loops_shares_along_either():
    for loop, window in (("i_i", "r"), ("j_i", "t")):
        s = pool()
        s.reorder("c", "i", "j")
        s.tile("i", "j", 2, 4)
        s.privatize("j_i", "most")
        s.privatize("i_i", "most")
        s.reorder("r", "t", "i_i", "j_i")
        s.share(loop, window)
        for name in ("i_i", "j_i", f"{loop}_{window}", "r", "t"):
            s.unroll(name)


def test_what_a_split_leaves_has_no_neighbours():
    s = tiled(pool(), 4)
    s.share("j_i", "t")
    assert "for j_o_tail in range(3):" in s.show()
    assert "near_t[j_i + t]" in s.show().partition("j_o_tail")[0]
    assert "near_t" not in s.show().partition("j_o_tail")[2]


def test_fewer_comparisons_are_made():
    def comparisons(s: lang.Schedule) -> int:
        whole = lang.Schedule(s.proc)
        return sum(
            turns
            for stmt, turns in _turns(whole)
            if isinstance(stmt, Store | Accumulate) and "max" in str(stmt)
        )

    plain, shared = tiled(pool(), 7), tiled(pool(), 7)
    shared.share("j_i", "t")
    assert comparisons(plain) == 2 * 7 * 2 * 9
    assert comparisons(shared) == 2 * 2 * (9 * 3 + 7 * 3)


def _turns(s: lang.Schedule) -> list[tuple[object, int]]:
    from math import prod

    from codegen.loops.axes import statements

    return [(stmt, prod(around.values())) for stmt, around in statements(s.proc.body, {})]


def weighted() -> lang.Schedule:
    x, w = lang.placeholder("x", (9, 9), "i8"), lang.placeholder("w", (3, 3), "i8", constant=True)
    r, t = lang.reduce_axis("r", 3), lang.reduce_axis("t", 3)
    y = lang.compute("y", (7, 7), lambda i, j: lang.sum(x[i + r, j + t] * w[r, t], r, t))
    s = lang.schedule("conv", [x, w], y)
    s.split("j", 7)
    s.privatize("j_i", "sum")
    s.reorder("r", "t", "j_i")
    return s


def row() -> lang.Schedule:
    x, t = lang.placeholder("x", (9,), "i8"), lang.reduce_axis("t", 3)
    s = lang.schedule("row", [x], lang.compute("y", (7,), lambda j: lang.max(x[j + t], t)))
    s.split("j", 7)
    s.privatize("j_i", "most")
    s.reorder("t", "j_i")
    return s


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "weights": (lambda: weighted().share("j_i", "t"), "does not walk j_i and t as one"),
    "apart": (lambda: tiled(pool("max", 3, 3), 3).share("j_i", "t"), "do not overlap in iterations of j_i"),
    "one loop": (lambda: row().share("j_i", "t"), "only t is reduced"),
    "one sum": (lambda: pool().share("j", "t"), "no loops j and t are around a reduction"),
    "not the sum's": (
        lambda: tiled(pool(), 2).share("r", "t"),
        "most does not have a value for each iteration",
    ),
    "floats": (
        lambda: tiled(pool("sum", dtype="f32"), 2).share("j_i", "t"),
        "no loops j_i and t",
    ),
    "no loop": (lambda: pool().share("q", "t"), "no loops q and t are around a reduction"),
}


@pytest.mark.parametrize("name", WRONG)
def test_windows_with_nothing_in_common_are_refused(name):
    ask, what = WRONG[name]
    with pytest.raises(InputError, match=what) as caught:
        ask()
    assert caught.value.what.startswith("s.share(")
    assert caught.value.where.startswith(f"{__file__}:")


def test_sketches_of_pools_share_and_those_of_convolutions_cannot():
    conv, s = nest_of(weighted().meaning), pool()
    nest = nest_of(s.proc)
    assert conv is not None
    assert nest is not None
    assert conv.overlapping == ()
    assert nest.overlapping == (("i", "r"), ("j", "t"))
    point = {**dict.fromkeys(nest.open_numbers, 1), "j": 7, "shared": 3, "turns": 16}
    assert nest.allows(point)
    assert not nest.allows({**point, "j": 1, "i": 2})  # whose windows would share along another loop
    s.apply_sketch(nest.steps(point))
    assert "s.share('j_i', 't')" in s.script()
    assert list(walk(apply(s.meaning, nest.steps(point)).body)) != list(walk(s.meaning.body))
