"""How much time a placement may cost: next to none without a budget, with one what it takes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from graphs import GRAPHS

from aot.ir.graph import Graph
from aot.passes.pipeline import PassRun
from aot.target import MemoryRegion, Target
from codegen.fit import placement_search
from codegen.fit.transformed_weights import models_share
from codegen.options import CompileOptions

MEGABYTE = 1 << 20


def tried(monkeypatch: pytest.MonkeyPatch, options: CompileOptions, most: float) -> list[float]:
    """What convolutions along sequences may lose of their time in each placement that is tried, in order."""
    asked: list[float] = []

    def another(graph: Graph, _: CompileOptions, max_slowdown: float) -> PassRun:
        """A placement like no other: they are known by their nodes."""
        asked.append(max_slowdown)
        return PassRun(replace(graph, nodes=graph.nodes[:1] * len(asked)), ())

    monkeypatch.setattr(placement_search, "_placed", another)
    found = placement_search.placements(GRAPHS["residual"](), options, most)
    assert [asked[len(run.graph.nodes) - 1] for _, run in found] == [slowdown for slowdown, _ in found]
    return [slowdown for slowdown, _ in found]


def test_without_a_budget_three_percent_may_be_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tried(monkeypatch, CompileOptions(), placement_search._MAX_SLOWDOWN) == [0.0, 0.03]


def test_within_a_budget_more_and_more_may_be_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = tried(monkeypatch, CompileOptions(), placement_search._ANY_SLOWDOWN)
    assert asked[:5] == [0.0, 0.03, 0.05, 0.1, 0.4]
    assert asked[5:] == [100.0]  # whatever it takes


def test_what_can_only_be_streamed_when_all_is_split_is_split_whatever_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(placement_search, "can_be_streamed", lambda graph: False)
    monkeypatch.setattr(placement_search, "streamed_input", lambda graph: None)
    assert tried(monkeypatch, CompileOptions(stream=True), placement_search._ANY_SLOWDOWN) == [100.0]


def test_an_application_has_a_quarter_of_the_flash_for_itself() -> None:
    flash = (MemoryRegion("FLASH", 0, MEGABYTE, "flash"), MemoryRegion("SMALL", 2 * MEGABYTE, 4096, "flash"))
    assert models_share(Target("host", regions=flash)) == 3 * MEGABYTE // 4
    assert models_share(Target("host")) is None
