"""The search for a plan: how much it does and costs, what it keeps, and what it takes if RAM is short."""

from dataclasses import replace
from typing import Any

import pytest
from graphs import GRAPHS, Draft
from model_checks import DSP, OPTIONS

from aot.errors import FitError, ModelError
from aot.ir.graph import Graph
from aot.passes.pipeline import PassRun, run_meaning
from aot.plan.model import Kind, PlanRequest, PlanTensor, Stage
from aot.target import MemoryRegion, Optimize, Target
from codegen.c.arenas import ANY_REGION
from codegen.compile import CompiledModel, compile_job
from codegen.fit import placement_search
from codegen.fit import plan_job as planning
from codegen.fit import variant as variants
from codegen.fit.budgets import archive_of, flash_bytes
from codegen.fit.plan_job import plan_job
from codegen.fit.transformed_weights import models_share
from codegen.fit.variant import (
    CompiledPlan,
    PlansFound,
    Variant,
    forget_plans,
    least_plan,
    plan_below,
)
from codegen.job import ImportedModel, Job
from codegen.lower.decisions import Decisions, decisions_for
from codegen.options import CompileOptions, Rounding


def variant_of(graph: Graph) -> Variant:
    return Variant(graph, DSP, OPTIONS["ram"], (ANY_REGION,), decisions_for(graph, Optimize.RAM))


@pytest.fixture(scope="module")
def residual():
    return variant_of(GRAPHS["residual"]()).least()


@pytest.mark.parametrize(("rows", "is_refused"), [(1_000_000, False), (1_000_001, True)])
def test_a_million_rows_are_planned_and_no_more(rows, is_refused, monkeypatch, residual):
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


def test_an_error_names_the_limit_and_three_that_are_there_when_most_is():
    d = Draft()
    inputs = [d.input(name, 1, 6, 6, 4) for name in "abcde"]
    wide = d.conv("wide", inputs[0], 64, 1)
    graph = d.graph(d.conv("end", wide, 4, 3), *(d.add(f"{x}1", x, x) for x in inputs[1:]))
    shown = refused(graph, ram=720)
    assert shown.what.startswith("the arena needs ")
    assert shown.what.endswith(" more than --ram 720 allows")
    assert shown.where.startswith("most is live at ")
    assert shown.where.count(", ") == 2


@pytest.mark.parametrize("goal", [Optimize.SPEED, Optimize.RAM])
def test_inputs_that_are_larger_than_the_budget_are_refused_before_anything_is_planned(goal, monkeypatch):
    monkeypatch.setattr(Variant, "least", None)
    assert refused(five_images(), optimize=goal, ram=500).what == (
        "the inputs alone need 720 bytes, 220 more than --ram 500 allows"
    )


def test_a_flash_budget_that_is_too_small_is_answered_with_the_least_possible():
    d = Draft()
    graph = d.graph(d.conv("heavy", d.input("x", 1, 24, 24, 16), 16))
    least = Job(ImportedModel(graph, "m", "0" * 64, "m"), DSP, CompileOptions(optimize=Optimize.SIZE))
    budget = flash_bytes(plan_job(least)) - 100
    job = replace(least, options=CompileOptions(flash=budget))
    with pytest.raises(FitError) as raised:
        plan_job(job)
    said = raised.value
    assert said.what.startswith("constants and kernels need about ")
    assert said.what.endswith(f" more than --flash {budget} allows")
    needed = int(said.hint.split()[1])
    assert flash_bytes(plan_job(replace(job, options=CompileOptions(flash=needed)))) == needed


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
    options, is_roomy, is_early, residual
):
    """What a device reads and writes is there for longer then, which takes memory."""
    decided = replace(residual.variant.decisions, is_roomy=is_roomy)
    assert replace(residual.variant, options=options, decisions=decided).request.starts_at_once is is_early


def test_variants_that_differ_in_scratch_alone_are_not_alike_for_the_planner():
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


def test_without_a_budget_three_percent_may_be_lost(monkeypatch):
    assert tried(monkeypatch, CompileOptions(), placement_search._MAX_SLOWDOWN) == [0.0, 0.03]


def test_within_a_budget_more_and_more_may_be_lost(monkeypatch):
    asked = tried(monkeypatch, CompileOptions(), placement_search._ANY_SLOWDOWN)
    assert asked[:5] == [0.0, 0.03, 0.05, 0.1, 0.4]
    assert asked[5:] == [100.0]  # whatever it takes


def test_what_can_only_be_streamed_when_all_is_split_is_split_whatever_it_takes(monkeypatch):
    monkeypatch.setattr(placement_search, "can_be_streamed", lambda graph: False)
    monkeypatch.setattr(placement_search, "streamed_input", lambda graph: None)
    assert tried(monkeypatch, CompileOptions(stream=True), placement_search._ANY_SLOWDOWN) == [100.0]


def test_an_application_has_a_quarter_of_the_flash_for_itself():
    flash = (MemoryRegion("FLASH", 0, MEGABYTE, "flash"), MemoryRegion("SMALL", 2 * MEGABYTE, 4096, "flash"))
    assert models_share(Target("host", regions=flash)) == 3 * MEGABYTE // 4
    assert models_share(Target("host")) is None


def compiled(core: str, ram_bytes: int | None = None) -> CompiledModel:
    model = ImportedModel(GRAPHS["residual"](), "t", "0" * 64, "net")
    return compile_job(Job(model, Target(core), CompileOptions(ram=ram_bytes)))


def searches() -> int:
    return least_plan.searches + plan_below.searches


def test_rows_that_are_the_same_on_two_cores_are_planned_once():
    forget_plans()
    first = compiled("cortex-m0")
    before = searches()
    assert before > 0
    assert compiled("cortex-m0plus").plan == first.plan
    assert searches() == before


@pytest.mark.slow
def test_another_limit_is_another_plan():
    forget_plans()
    first = compiled("cortex-m0")
    before = searches()
    less = compiled("cortex-m0", first.plan.arena_bytes - 4)
    assert less.plan.arena_bytes < first.plan.arena_bytes
    assert searches() > before


def test_a_plan_that_was_forgotten_is_found_again_and_is_the_same():
    first = compiled("cortex-m0")
    forget_plans()
    assert compiled("cortex-m0").plan == first.plan
    assert searches() > 0


def test_layers_by_themselves_push_out_no_model():
    found = PlansFound(lambda request: object())
    model = request_of(5, 1)
    plan = found(model)
    for number in range(1000):
        found(request_of(1, number))
    assert found(model) is plan
    assert found.searches == 1001


def request_of(stages: int, number: int) -> PlanRequest:
    return PlanRequest((), tuple(Stage(f"s{number}", (), (), ()) for _ in range(stages)), ())


JOB = Job(ImportedModel(GRAPHS["residual"](), "t", "0" * 64, "net"), Target("cortex-m3"), CompileOptions())


def planned(monkeypatch: pytest.MonkeyPatch, room: int, job: Job = JOB) -> CompiledPlan:
    """The plan on a board that has so many bytes for an arena."""
    monkeypatch.setattr(planning, "_missing", lambda plan: max(plan.plan.arena_bytes - room, 0))
    return planning.plan_job(job)


def test_with_room_the_options_stay_as_they_are(monkeypatch):
    plan = planned(monkeypatch, 1 << 20)
    assert plan.job.options == CompileOptions(rounding=Rounding.TFLM)


def test_the_arena_gets_what_the_rest_leaves_and_the_options_say_so(monkeypatch):
    most = planned(monkeypatch, 1 << 20).plan.arena_bytes
    plan = planned(monkeypatch, most - 1)
    assert plan.plan.arena_bytes < most
    assert plan.job.options == CompileOptions(ram=plan.plan.arena_bytes, rounding=Rounding.TFLM)


def test_of_what_leaves_no_room_the_least_is_shown(monkeypatch):
    plan = planned(monkeypatch, 0)
    least = archive_of(run_meaning(JOB.model.graph), JOB).by_arena[0]
    assert plan.plan.arena_bytes == least.arena_bytes
    assert plan.job.options == CompileOptions(Optimize.RAM, rounding=Rounding.TFLM)
