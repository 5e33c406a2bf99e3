"""What a search for a plan takes and does at most: rows, plans that it tries, names in its errors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from graphs import GRAPHS, Draft
from model_checks import DSP, OPTIONS

from aot.errors import FitError, ModelError
from aot.ir.graph import Graph
from aot.plan.model import Kind, PlanTensor
from aot.target import Optimize
from codegen.c.arenas import ANY_REGION
from codegen.fit import variant as variants
from codegen.fit.budgets import flash_bytes
from codegen.fit.plan_job import plan_job
from codegen.fit.variant import PlannedVariant, Variant
from codegen.job import ImportedModel, Job
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
    assert refused.value.what == "the tensors have 1,000,001 rows in total, the limit is 1,000,000"
    assert refused.value.where == 'most of them are in "x": 600,000 of 4 bytes'


def five_images() -> Graph:
    """All are there at the beginning."""
    d = Draft()
    first, *others = (d.input(name, 1, 6, 6, 4) for name in "abcde")
    for other in others:
        first = d.add(f"{other}1", first, other)
    return d.graph(first)


def refused(graph: Graph, **options: Any) -> FitError:
    job = Job(ImportedModel(graph, "m", "0" * 64, "m"), DSP, CompileOptions(**options))
    with pytest.raises(FitError) as raised:
        plan_job(job)
    return raised.value


def test_an_error_names_the_limit_and_three_that_are_there_when_most_is() -> None:
    d = Draft()
    inputs = [d.input(name, 1, 6, 6, 4) for name in "abcde"]
    wide = d.conv("wide", inputs[0], 64, 1)
    graph = d.graph(d.conv("end", wide, 4, 3), *(d.add(f"{x}1", x, x) for x in inputs[1:]))
    shown = refused(graph, ram_bytes=720)
    assert shown.what.startswith("the arena needs ")
    assert shown.what.endswith(" more than --ram 720 allows")
    assert shown.where.startswith("most is live at ")
    assert shown.where.count(", ") == 2


@pytest.mark.parametrize("goal", [Optimize.SPEED, Optimize.RAM])
def test_inputs_that_are_larger_than_the_budget_are_refused_before_anything_is_planned(
    goal: Optimize, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Variant, "least", None)
    assert refused(five_images(), optimize=goal, ram_bytes=500).what == (
        "the inputs alone need 720 bytes, 220 more than --ram 500 allows"
    )


def test_a_flash_budget_that_is_too_small_is_answered_with_the_least_possible() -> None:
    d = Draft()
    graph = d.graph(d.conv("heavy", d.input("x", 1, 24, 24, 16), 16))
    least = Job(ImportedModel(graph, "m", "0" * 64, "m"), DSP, CompileOptions(optimize=Optimize.SIZE))
    budget = flash_bytes(plan_job(least)) - 100
    job = replace(least, options=CompileOptions(flash_bytes=budget))
    with pytest.raises(FitError) as raised:
        plan_job(job)
    said = raised.value
    assert said.what.startswith("constants and kernels need about ")
    assert said.what.endswith(f" more than --flash {budget} allows")
    needed = int(said.hint.split()[1])
    assert flash_bytes(plan_job(replace(job, options=CompileOptions(flash_bytes=needed)))) == needed


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
