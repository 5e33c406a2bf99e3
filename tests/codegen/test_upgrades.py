"""Wide rows and padding go to the layers for which there is room, heaviest first, and cost no byte."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from graphs import Draft
from model_checks import DSP, OPTIONS, PLAIN, compiled
from row_machine import run_lowered

from aot.interpret import run_graph
from aot.ir.graph import Graph
from codegen.fit.arenas import ANY_REGION
from codegen.fit.plan_job import plan_job
from codegen.fit.upgrades import affordable_upgrades
from codegen.fit.variant import Variant
from codegen.fit.variant_search import PlanCache, find_variant
from codegen.job import ImportedModel, Job
from codegen.lower.decisions import decisions_for
from codegen.model import CompiledModel

RAM, SPEED = OPTIONS["ram"], OPTIONS["speed"]
WIDENS = replace(DSP, pairs_instructions=True)  # whose fastest rows have 16 bits; other cores pair weights


def light_behind_heavy() -> Graph:
    """The peak is in front, where rows are long; three layers behind it have room, the last but one least."""
    d = Draft()
    x = d.conv("front", d.conv("wide", d.input("x", 1, 24, 24, 4), 32), 8, stride=(2, 2))
    for name, channels in (("a", 8), ("b", 16), ("c", 8)):
        x = d.conv(name, x, channels, stride=(2, 2) if name == "a" else (1, 1))
    return d.graph(x)


def wide_layers(made: CompiledModel) -> set[str]:
    """Values that are held in 16 bits."""
    return {layer.value for layer in made.layers if layer.format.dtype_bytes == 2}


def least_without_upgrades(graph: Graph) -> int:
    pools = compiled(graph, WIDENS, RAM, "m").request.pools
    variant = Variant(graph, WIDENS, RAM, pools, decisions_for(graph, RAM.optimize))
    return min(c.least().plan.arena_bytes for c in (variant, variant.unpadded))


@pytest.mark.slow
def test_where_memory_is_the_goal_rows_away_from_the_peak_are_wide_and_the_arena_is_no_larger() -> None:
    made = compiled(light_behind_heavy(), WIDENS, RAM, "m")
    assert wide_layers(made)
    assert wide_layers(made) < wide_layers(compiled(light_behind_heavy(), WIDENS, SPEED, "m"))
    assert made.plan.arena_bytes == least_without_upgrades(made.graph)


def test_a_core_that_is_no_faster_with_wide_rows_gets_none() -> None:
    assert not wide_layers(compiled(light_behind_heavy(), PLAIN, RAM, "m"))


def test_whole_tensors_are_narrow_where_memory_is_the_goal() -> None:
    assert not wide_layers(compiled(light_behind_heavy(), DSP, replace(RAM, rows=False), "m"))


@pytest.mark.slow
def test_a_larger_budget_makes_more_layers_wide_until_all_are() -> None:
    least, most = (compiled(light_behind_heavy(), WIDENS, o, "m").plan.arena_bytes for o in (RAM, SPEED))
    budgets = [least, least + 300, (least + most) // 2, most]
    made = [compiled(light_behind_heavy(), WIDENS, replace(SPEED, ram_bytes=b), "m") for b in budgets]
    assert all(each.plan.arena_bytes <= budget for each, budget in zip(made, budgets, strict=True))
    counts = [len(wide_layers(each)) for each in made]
    assert counts == sorted(counts)
    assert 0 < counts[0] < counts[-1] == len(wide_layers(compiled(light_behind_heavy(), WIDENS, SPEED, "m")))


def test_a_layer_that_has_no_room_does_not_keep_lighter_ones_from_it() -> None:
    graph = light_behind_heavy()
    cache = PlanCache()
    narrow = find_variant(graph, DSP, replace(RAM, rows=False), decisions_for(graph, RAM.optimize), cache)
    assert narrow is not None
    by_rows = Variant(graph, DSP, RAM, narrow.variant.pools, decisions_for(graph, RAM.optimize)).least()
    heaviest = max(graph.nodes, key=lambda n: n.op.cost(graph.input_types(n), graph.output_types(n)).macs)
    upgrades = affordable_upgrades(by_rows, by_rows.plan.arena_bytes)
    assert upgrades
    assert heaviest.name not in upgrades


@pytest.mark.parametrize(("channels", "is_copied"), [(12, False), (24, True)])
def test_an_input_is_copied_to_be_wide_where_each_element_is_multiplied_often(
    channels: int, is_copied: bool
) -> None:
    """Each element of an input of a 1x1 convolution is multiplied once for each channel. There is room."""
    d = Draft()
    graph = d.graph(d.conv("c", d.input("x", 1, 24, 24, 4), channels, 1))
    narrow = Variant(graph, DSP, RAM, (ANY_REGION,), decisions_for(graph, RAM.optimize)).least()
    assert affordable_upgrades(narrow, 1_000_000) == (("node c",) if is_copied else ())


@pytest.mark.slow
def test_layers_that_got_wide_rows_compute_the_same() -> None:
    graph = light_behind_heavy()
    planned = plan_job(Job(ImportedModel(graph, "g", "", "g"), DSP, RAM))
    assert any(tensor.format.dtype_bytes == 2 for tensor in planned.lowered.tensors.values())
    inputs = {"x": np.random.default_rng(5).integers(-128, 128, (1, 24, 24, 4), np.int8)}
    assert np.array_equal(run_lowered(planned.lowered, inputs)["c"], run_graph(graph, inputs)["c"])
