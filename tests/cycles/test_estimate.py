"""Whole traces weighted: blocks, jumps, misaligned accesses and layers add up."""

import numpy as np
import pytest

from boards.cores import load_core
from platforms.cycles.estimate import BlockCost, block_costs, estimate
from platforms.cycles.trace import HALF_WORD, ODD_WORD, WORD, Trace, load_trace

# 0x100: ldr r0,[r1]; ldr r1,[r2]; bne 0x100     0x106: smlad r0,r1,r2,r3; bx lr
LOOP, END = bytes.fromhex("08681168fcd1"), bytes.fromhex("21fb02307047")
ROUNDS = 3


@pytest.fixture(autouse=True)
def _capstone(require_package):
    require_package("capstone")


@pytest.fixture
def m4():
    timing = load_core("cortex-m4").timing
    assert timing is not None
    return timing


def run(misaligned: list[tuple[int, int]], layer_ends: list[tuple[int, int]]) -> Trace:
    return Trace(
        machine="arm",
        addresses=np.array([0x100, 0x106, 0x900]),
        code=(LOOP, END, b"\xff\xff\xff\xff"),  # the last is never executed, and no code
        order=np.array([0] * ROUNDS + [1]),
        flash_reads=np.zeros(0, np.int64),
        reads_before=np.zeros(ROUNDS + 1, np.int64),
        misaligned=np.array(misaligned, np.int64).reshape(-1, 2),
        layer_ends=np.array(layer_ends, np.int64).reshape(-1, 2),
    )


def test_a_loop_takes_its_refills_but_for_the_last_round(m4):
    whole = estimate(run([], []), m4, None).run
    assert whole.instructions == 3 * ROUNDS + 2
    assert whole.parts["loads"] == 3 * ROUNDS
    assert whole.parts["products"] == 1
    assert whole.parts["branches"] == ROUNDS + (ROUNDS - 1) + 1  # and bx lr, whose target is not in the run
    assert whole.count == sum(whole.parts.values())


def test_misaligned_accesses_cost_by_their_kind(m4):
    plain = estimate(run([], []), m4, None).run.count
    assert (
        estimate(run([(HALF_WORD, 0), (WORD, 1), (ODD_WORD, 2)], []), m4, None).run.count == plain + 1 + 1 + 2
    )


def test_layers_own_what_was_executed_before_they_report(m4):
    told = estimate(run([(ODD_WORD, 0)], [(7, 1), (8, 2), (7, 3)]), m4, None)
    assert {layer: cycles.instructions for layer, cycles in told.layers.items()} == {7: 3 + 3 + 2, 8: 3}
    assert sum(cycles.count for cycles in told.layers.values()) == told.run.count


def test_blocks_add_up_to_their_layers(m4):
    """The block takes its most where it jumps back, two of three times, and once a misaligned word more."""
    trace = run([(ODD_WORD, 0)], [(7, 3), (8, 4)])
    told, costs = estimate(trace, m4, None), block_costs(trace, m4, None)
    assert costs[7].keys() == {0x100}
    assert costs[7][0x100].executions == ROUNDS
    assert costs[8] == {0x106: BlockCost(1, told.layers[8].count)}
    one = told.layers[7].count - 2 - 2 * 1  # neither the misaligned word nor two refills
    assert costs[7][0x100].cycles == one // ROUNDS + 1 + 2


def test_a_trace_comes_back_from_its_file(tmp_path):
    before = run([(WORD, 1)], [(2, 3)])
    before.save(tmp_path / "trace")
    after = load_trace(tmp_path / "trace")
    assert after.code == before.code
    for name in ("addresses", "order", "flash_reads", "reads_before", "misaligned", "layer_ends"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
