"""A search finds a faster schedule, keeps its trials, and refuses what it cannot search."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from aot.errors import InputError
from codegen.lang.schedule import LoopSchedule
from deploy import lang

W = np.random.default_rng(1).integers(-128, 128, (6, 16), np.int8)


def product(rows: int = 6) -> LoopSchedule:
    x = lang.placeholder("x", (rows, 16), "i8")
    w = lang.placeholder("w", (6, 16), "i8", constant=True)
    k = lang.reduce_axis("k", 16)
    return lang.schedule(
        "product", [x, w], lang.compute("c", (rows, 6), lambda i, j: lang.sum(x[i, k] * w[j, k], k))
    )


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_a_search_finds_a_schedule_that_can_be_built(
    tmp_path: Path, own_folders: None, require_tool: Callable[..., None]
) -> None:
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
    s, file, seen = product(), tmp_path / "trials.jsonl", []
    found = lang.search(
        s, "mps2-an386", 32, "ga", records=file, on_trial=lambda progress, record: seen.append(record)
    )
    assert s.trace == ()  # what was given stays as it is
    assert (found.trials, found.failed, found.unit) == (32, 0, "instructions")
    assert len(seen) == 32
    assert found.speedup > 1.8
    kernel = lang.build(found.schedule, "mps2-an386", {"w": W})
    kernel.verify()
    assert kernel.time().count.mean < lang.build(s, "mps2-an386", {"w": W}).time().count.mean / 1.8
    assert str(found) == (
        f"# {found.naive:,} to {found.best:,} instructions in 32 trials, 0 failed\n{found.schedule.script()}"
    )
    again = lang.search(s, "mps2-an386", 8, "ga", records=file)
    assert (again.trials, again.naive) == (40, found.naive)  # those of the file count
    assert again.best <= found.best
    other = lang.search(product(4), "mps2-an386", 8, "ga", records=file)
    assert (other.trials, other.naive < found.naive) == (8, True)


def test_what_cannot_be_searched_is_told() -> None:
    s = product()
    s.unroll("k")
    with pytest.raises(InputError) as caught:
        lang.search(s, "mps2-an386")
    assert caught.value.what == "product has 1 steps of its own"
    x, k = lang.placeholder("x", (4, 9), "i8"), lang.reduce_axis("k", 9)
    total = lang.compute("total", (4,), lambda i: lang.sum(x[i, k], k))
    y = lang.compute("y", (4, 9), lambda i, j: x[i, j] * 9 - total[i])
    with pytest.raises(
        InputError, match="centred is not one nest whose elements can be computed in any order"
    ):
        lang.search(lang.proc("centred", [x], y), "mps2-an386")
