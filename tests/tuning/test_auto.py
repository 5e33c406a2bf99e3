"""Nests without a hand-written schedule are scheduled by search: the same bits, at twice the speed."""

from contextlib import closing
from functools import partial

import pytest
from nests import mean_the_same

from aot.ir.types import DType
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Accumulate,
    Binary,
    Buffer,
    Const,
    Declare,
    Expr,
    For,
    Proc,
    Role,
    Stmt,
    Store,
    at,
    load,
)
from codegen.loops.sketches import apply, nest_of
from platforms.base import platform_of
from platforms.board_files import load_board
from platforms.tuning.auto import auto_task, schedule_text
from platforms.tuning.image_bench import ImageBench
from platforms.tuning.trial import Candidate, MeasureChoices
from platforms.tuning.tuners.tuner import make_tuner

I, J, K, R = (variable(name) for name in "ijkr")  # noqa: E741 - the loop variables
TRIALS = 64
TOTAL = Buffer("sum", DType.I32, 1, Role.LOCAL)


def _reduced(value: Expr, y: Buffer, place: object, *loops: tuple[str, int]) -> tuple[Stmt, ...]:
    """sum = 0; sum += value over the loops; y[place] = sum."""
    body: Stmt = Accumulate(at(TOTAL), value)
    for var, extent in reversed(loops):
        body = For(var, extent, (body,))
    return (Declare(TOTAL), Store(at(TOTAL), Const(0)), body, Store(at(y, place), load(TOTAL)))  # type: ignore[arg-type]


def matmul() -> Proc:
    x, w = Buffer("x", DType.I8, 16 * 48, Role.ROWS), Buffer("w", DType.I8, 12 * 48, Role.CONSTANT)
    y = Buffer("y", DType.I32, 16 * 12, Role.OUTPUT)
    product = Binary("*", load(x, I * 48 + K), load(w, J * 48 + K))
    body = _reduced(product, y, I * 12 + J, ("k", 48))
    return Proc("matmul", (x, w, y), (For("i", 16, (For("j", 12, body),)),))


def conv() -> Proc:
    x, w = Buffer("x", DType.I8, 18 * 8, Role.ROWS, 3), Buffer("w", DType.I8, 8 * 72, Role.CONSTANT)
    y = Buffer("y", DType.I32, 16 * 8, Role.OUTPUT)
    product = Binary("*", load(x, I * 8 + K, R), load(w, J * 72 + R * 24 + K))
    body = _reduced(product, y, I * 8 + J, ("r", 3), ("k", 24))
    return Proc("conv", (x, w, y), (For("i", 16, (For("j", 8, body),)),))


def pool(size: int) -> Proc:
    x = Buffer("x", DType.I8, (15 + size) * 8, Role.ROWS, size)
    y = Buffer("y", DType.I32, 16 * 8, Role.OUTPUT)
    body = _reduced(load(x, I * 8 + K * 8 + J, R), y, I * 8 + J, ("r", size), ("k", size))
    return Proc(f"pool{size}", (x, y), (For("i", 16, (For("j", 8, body),)),))


NESTS = {"matmul": matmul, "conv": conv, "pool3": partial(pool, 3), "pool5": partial(pool, 5)}


@pytest.mark.slow
@pytest.mark.parametrize("name", NESTS)
def test_every_schedule_means_the_same_as_its_nest(name):
    proc = NESTS[name]()  # type: ignore[operator]
    nest, points = nest_of(proc), auto_task(proc).task.space.points
    assert nest is not None
    assert len(points) > 100
    some = points[1 :: len(points) // 6]
    assert all(mean_the_same(proc, apply(proc, nest.steps(point))) for point in some)


def _after(value: Expr, *loops: str) -> Proc:
    """y[i] = value, in loops over i and, perhaps, j."""
    body: Stmt = Store(at(Y, I), value)
    for var in reversed(loops):
        body = For(var, 4, (body,))
    return Proc("p", (X, Y), (body,))


X, Y = Buffer("x", DType.I8, 8, Role.ROWS), Buffer("y", DType.I8, 8, Role.OUTPUT)


def test_what_reads_its_own_result_is_not_a_nest():
    assert nest_of(_after(load(X, I), "i")) is not None
    assert nest_of(_after(load(Y, I - 1), "i")) is None


def test_a_loop_that_writes_one_place_is_not_tiled():
    assert nest_of(_after(load(X, I), "j", "i")) is None
    nest = nest_of(_after(load(X, I), "i", "j"))
    assert nest is not None
    assert [loop.var for loop in nest.around] == ["i"]


def test_tiles_of_more_sums_than_registers_are_not_points():
    nest = nest_of(matmul())
    assert nest is not None
    assert nest.allows({"i": 4, "j": 4})
    assert not nest.allows({"i": 6, "j": 3})


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("name", NESTS)
def test_the_search_beats_the_naive_nest_twice_over(name, tmp_path):
    auto, board = auto_task(NESTS[name]()), load_board("mps2-an386")  # type: ignore[operator]
    task = auto.task
    tuner = make_tuner("ga", task.space, 0)
    with closing(ImageBench(board, platform_of(board), tmp_path, MeasureChoices())) as bench:  # type: ignore[arg-type]

        def costs(points: list[dict[str, int]]) -> list[int]:
            outcomes = bench.measure(task, auto.experiment, [Candidate(p, task.kernel(p)) for p in points])
            assert [outcome.error for outcome in outcomes] == [""] * len(points)
            return [board.counter.instructions(outcome.ticks[0]) for outcome in outcomes]

        (naive,) = costs([dict(task.space.default)])
        for _ in range(TRIALS // 32):
            points = [dict(point) for point in tuner.propose(32)]
            tuner.learn([(p, float(c)) for p, c in zip(points, costs(points), strict=True)])
    assert tuner.best is not None
    point, best = tuner.best
    assert best * 2 <= naive, f"{best} of {naive}"
    assert "proc = " in schedule_text(task, point)
