"""What a result needs is found in a few rounds over the layers, however many there are."""

from __future__ import annotations

import pytest
from graphs import Draft

from aot.ir.graph import Graph
from aot.passes.channel_ranges import channel_ranges
from aot.passes.meaning import remove_dead_channels as search

MOST_ROUNDS = 4


def chain(layers: int) -> Graph:
    d = Draft()
    x = d.input("x", 1, 1, 1, 4)
    for number in range(layers):
        x = d.conv(f"c{number}", x, 4, 1)
    return d.graph(x)


def test_the_rounds_do_not_grow_with_the_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A round that went in one direction alone would reach one layer more each time."""
    rounds: list[int] = []
    once = search._keep_needed

    def counted(*given: object) -> bool:
        rounds.append(1)
        return once(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(search, "_keep_needed", counted)
    graph = chain(60)
    dead = search.dead_channels(graph, channel_ranges(graph))
    assert not any(mask.any() for mask in dead.values())
    assert len(rounds) <= MOST_ROUNDS
