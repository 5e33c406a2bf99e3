"""What a search for a plan takes and does at most: rows, plans that it tries, names in its errors."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest
from graphs import GRAPHS, Draft
from model_checks import DSP, OPTIONS

from aot.errors import ModelError
from aot.ir.graph import Graph
from aot.plan.model import Kind, PlanTensor
from aot.target import Optimize
from codegen.fit import variant as variants
from codegen.fit import variant_search as search
from codegen.fit.arenas import ANY_REGION
from codegen.fit.no_room import NoRoomError
from codegen.fit.upgrades import affordable_upgrades
from codegen.fit.variant import PlannedVariant, Variant
from codegen.lower.decisions import Decisions, decisions_for
from codegen.options import CompileOptions


def variant_of(graph: Graph) -> Variant:
    return Variant(graph, DSP, OPTIONS["ram"], (ANY_REGION,), decisions_for(graph, Optimize.RAM))


@pytest.fixture(scope="module")
def residual() -> PlannedVariant:
    return variant_of(GRAPHS["residual"]()).least()


@pytest.mark.parametrize(("rows", "is_refused"), [(1_000_000, False), (1_000_001, True)])
def test_a_million_rows_are_planned_and_no_more(
    rows: int, is_refused: bool, monkeypatch: pytest.MonkeyPatch, residual: PlannedVariant
) -> None:
    tensors = (PlanTensor("x", 600_000, 4, Kind.INPUT), PlanTensor("y", rows - 600_000, 8, Kind.OUTPUT))
    monkeypatch.setattr(variants, "plan_tensors", lambda lowered, keeps_padding: tensors)
    variant = variant_of(residual.variant.graph)
    if not is_refused:
        assert variant.request.tensors == tensors
        return
    with pytest.raises(ModelError) as refused:
        _ = variant.request
    assert refused.value.what == "the tensors have 1,000,001 rows in all, the limit is 1,000,000"
    assert refused.value.where == 'most of them are in "x": 600,000 of 4 bytes'


def test_upgrades_are_tried_in_plans_of_ten_thousand_rows_in_all(
    monkeypatch: pytest.MonkeyPatch, residual: PlannedVariant
) -> None:
    """Here none is found: one layer after the other would be tried for minutes in a large graph."""
    tried: list[int] = []
    layers = tuple(f"layer {number}" for number in range(10_000))

    def none(variant: Variant, other: PlannedVariant, limit: int, exact: bool = False) -> None:
        tried.append(limit)

    monkeypatch.setattr(search, "affordable_upgrades", lambda planned, limit: layers)
    monkeypatch.setattr(Variant, "like", none)
    assert search._upgraded(residual, 4321) is residual
    assert tried == [4321] * (10_000 // len(residual.plan.order))


@pytest.mark.parametrize(("rows", "how"), [(2_400, "below"), (2_401, "like")])
def test_the_order_of_a_plan_with_more_than_2400_rows_is_kept_without_padding(rows: int, how: str) -> None:
    tried: list[str] = []
    asked = SimpleNamespace(
        memory="without padding",
        options=CompileOptions(),
        below=lambda limit: tried.append("below"),
        like=lambda other, limit, exact: tried.append("like"),
    )
    padded = SimpleNamespace(plan=SimpleNamespace(order=(0,) * rows))
    cache = search.PlanCache(5000, ["padded"])
    assert cache.smaller_plan(cast(Variant, asked), cast(PlannedVariant, padded)) is None
    assert tried == [how]


def five_images() -> Graph:
    """All are there at the beginning."""
    d = Draft()
    first, *others = (d.input(name, 1, 6, 6, 4) for name in "abcde")
    for other in others:
        first = d.add(f"{other}1", first, other)
    return d.graph(first)


def test_an_error_names_the_limit_and_three_that_are_there_when_most_is() -> None:
    graph, options = five_images(), CompileOptions(ram_bytes=500)
    with pytest.raises(NoRoomError) as refused:
        search.find_variant(graph, DSP, options, decisions_for(graph, options.optimize), search.PlanCache())
    shown = refused.value.fit_error()
    assert shown.what.endswith("more than --ram 500 allows")
    assert shown.where == 'most is live at add OP "b1": a 144, b 144, c 144 bytes'


@pytest.mark.parametrize("goal", [Optimize.SPEED, Optimize.RAM])
def test_the_least_plan_is_made_for_an_error_only_where_it_is_shown(
    goal: Optimize, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Variant] = []
    least = Variant.least

    def counted(variant: Variant) -> PlannedVariant:
        made.append(variant)
        return least(variant)

    monkeypatch.setattr(Variant, "least", counted)
    graph, options = five_images(), CompileOptions(goal, ram_bytes=500)
    with pytest.raises(NoRoomError) as refused:
        search.find_variant(graph, DSP, options, decisions_for(graph, options.optimize), search.PlanCache())
    assert made == []
    assert "allows" in refused.value.fit_error().what
    assert made


@pytest.mark.parametrize(("channels", "is_worth_it"), [(16, False), (24, True)])
def test_a_layer_with_a_500th_of_the_work_is_worth_wide_rows(channels: int, is_worth_it: bool) -> None:
    d = Draft()
    heavy = d.conv("heavy", d.input("x", 1, 24, 24, 16), 16)
    graph = d.graph(d.conv("light", heavy, channels, 1, stride=(8, 8)))
    work = {
        node.name: node.op.cost(graph.input_types(node), graph.output_types(node)).macs
        for node in graph.nodes
    }
    assert (work["node light"] * 500 > sum(work.values())) is is_worth_it
    assert work["node light"] * 250 < sum(work.values())
    assert ("node light" in affordable_upgrades(variant_of(graph).least(), 1_000_000)) is is_worth_it


@pytest.mark.slow
def test_where_only_rows_with_padding_keep_to_a_limit_they_have_it(residual: PlannedVariant) -> None:
    padded, variant = residual.plan.arena_bytes, residual.variant
    limit = variant.unpadded.least().plan.arena_bytes - 1
    assert padded <= limit
    assert search._least_within(variant, limit).plan.arena_bytes == padded


@pytest.mark.parametrize(
    ("options", "is_roomy", "is_early"),
    [
        (OPTIONS["speed"], True, True),
        (OPTIONS["size"], True, False),
        (OPTIONS["ram"], False, False),
        (OPTIONS["speed"], False, False),
    ],
)
def test_devices_start_early_where_time_is_the_goal_and_memory_has_no_limit(
    options: CompileOptions, is_roomy: bool, is_early: bool, residual: PlannedVariant
) -> None:
    """What a device reads and writes is there for longer then, which takes memory."""
    decided = replace(residual.variant.decisions, is_roomy=is_roomy)
    assert replace(residual.variant, options=options, decisions=decided).request.starts_at_once is is_early


def test_variants_that_differ_in_scratch_alone_are_not_alike_for_the_planner() -> None:
    """A search that takes them for alike would never plan the one that needs less."""
    d = Draft()
    graph = d.graph(d.conv("c", d.input("x", 1, 24, 24, 4), 24))
    every = frozenset(node.name for node in graph.nodes)
    spends = Variant(graph, DSP, OPTIONS["speed"], (ANY_REGION,), Decisions(widened=every))
    saves = spends.decided(frugal=every, widened=frozenset())
    scratch = [sum(s.kernel.scratch_bytes for s in each.lowered.stages) for each in (spends, saves)]
    formats = [[t.format for t in each.lowered.tensors.values()] for each in (spends, saves)]
    assert scratch[0] > scratch[1]
    assert formats[0] == formats[1]
    assert spends.memory != saves.memory
