"""Orders of branching graphs: the best where the exact search reaches, near it where it does not."""

from __future__ import annotations

import random

import pytest

from benchmarks.branching import FAMILIES
from benchmarks.orders import excess, order_row


@pytest.mark.parametrize("family", FAMILIES)
def test_the_planners_order_is_the_best_there_is(family: str) -> None:
    found = [excess(FAMILIES[family](random.Random(seed))) for seed in range(8)]
    known = [each for each in found if each is not None]
    assert len(known) >= 6
    assert sum(each.planner for each in known) / len(known) < 0.005
    assert sum(each.beam for each in known) / len(known) < 0.02
    assert all(each.planner <= each.given for each in known)


def test_a_row_tells_how_many_graphs_were_solved() -> None:
    assert order_row("U-Nets", 3).startswith("| U-Nets | 3 | ")
