"""Nests without a hand-written schedule are scheduled by search: the same bits, at twice the speed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from nests import mean_the_same

from aot.ir.types import DType
from boards.load import load_board
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
from codegen.loops.sketches import apply, schedules
from platforms.base import platform_of
from platforms.tuning.auto import auto_task
from platforms.tuning.image_bench import ImageBench
from platforms.tuning.loop_features import features
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


def pool() -> Proc:
    x = Buffer("x", DType.I8, 20 * 8, Role.ROWS, 5)
    y = Buffer("y", DType.I32, 16 * 8, Role.OUTPUT)
    body = _reduced(load(x, I * 8 + K * 8 + J, R), y, I * 8 + J, ("r", 5), ("k", 5))
    return Proc("pool", (x, y), (For("i", 16, (For("j", 8, body),)),))


NESTS = {"matmul": matmul, "conv": conv, "pool": pool}


@pytest.mark.parametrize("name", NESTS)
def test_every_schedule_means_the_same_as_its_nest(name: str) -> None:
    proc = NESTS[name]()
    every = list(schedules(proc).values())
    assert len(every) > 100
    assert all(mean_the_same(proc, apply(proc, steps)) for steps in every[1 :: len(every) // 4])


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("name", NESTS)
def test_the_search_beats_the_naive_nest_twice_over(
    name: str, require_tool: Callable[..., None], tmp_path: Path
) -> None:
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
    auto, board = auto_task(NESTS[name]()), load_board("mps2-an386")
    task = auto.task
    tuner = make_tuner("ga", task.space, 0, lambda point: features(point, task.kernel(point)))
    with closing(ImageBench(board, platform_of(board), tmp_path, MeasureChoices())) as bench:

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
    assert "proc = " in auto.as_python(point)
