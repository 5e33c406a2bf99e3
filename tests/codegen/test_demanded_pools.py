"""Where kernels reach some memories only, the arena is spread over the user's or over all of the board."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from aot.errors import BoardError
from aot.plan.model import Pool
from aot.target import FIRMWARE_RAM_BYTES, MemoryRegion, Target
from codegen.fit.variant import pools_demanded
from codegen.kernels.kernel import ANYWHERE, MemoryDemand
from codegen.lower.stages import LoweredStage

DTCM, SRAM = MemoryRegion("DTCM", 0, 1 << 16, "ram"), MemoryRegion("SRAM", 1 << 20, 1 << 18, "ram", speed=1)
TARGET = Target("cortex-m55", regions=(DTCM, SRAM))
ALL = (Pool("DTCM", (1 << 16) - FIRMWARE_RAM_BYTES), Pool("SRAM", 1 << 18))


def stage(*memories: str) -> LoweredStage:
    demand = MemoryDemand(memories=frozenset(memories))
    kernel = SimpleNamespace(demand=demand, device="NPU", strategy="npu")
    made = SimpleNamespace(op="conv2d", name="c", kernel=kernel)
    return cast(LoweredStage, made)


def test_where_any_memory_will_do_nothing_is_spread() -> None:
    assert stage().kernel.demand == ANYWHERE
    assert pools_demanded([stage(), stage()], TARGET, (Pool("SRAM"),)) == ()


def test_one_that_demands_a_memory_spreads_over_all_of_the_board() -> None:
    assert pools_demanded([stage(), stage("SRAM")], TARGET, ()) == ALL


def test_what_the_user_names_is_all_that_is_offered() -> None:
    assert pools_demanded([stage("SRAM")], TARGET, (Pool("SRAM", 100),)) == (Pool("SRAM", 100),)


@pytest.mark.parametrize(
    ("target", "chosen", "why", "hint"),
    [
        (TARGET, (Pool("DTCM", 100),), "which --pool does not list", "there is DTCM"),
        (Target("cortex-m55", regions=(DTCM,)), (), "which this board does not have", "there is DTCM"),
        (Target("cortex-m55"), (), "which this board does not have", "there is none: name a board"),
    ],
)
def test_a_memory_that_is_not_offered_is_reported(
    target: Target, chosen: tuple[Pool, ...], why: str, hint: str
) -> None:
    with pytest.raises(BoardError) as refused:
        pools_demanded([stage("SRAM", "AXI")], target, chosen)
    assert refused.value.what == f'conv2d "c" (NPU) needs memory in AXI or SRAM, {why}'
    assert refused.value.hint == hint
