"""Plans within budgets: never slower with more memory, never beyond the budget, the same bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest
from graphs import GRAPHS, Draft
from model_checks import DSP
from row_machine import run_lowered

from aot.errors import FitError
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.passes.pipeline import run_meaning
from aot.target import MemoryRegion, Optimize, Target
from codegen.compile_kinds import RegionLimit
from codegen.fit.budgets import archive_of, flash_bytes, offers_for
from codegen.fit.layer_cycles import cycle_table
from codegen.fit.merged_kernels import predicted_cycles
from codegen.fit.placement_search import checked_plan
from codegen.fit.plan_job import plan_job
from codegen.fit.variant import CompiledPlan
from codegen.job import ImportedModel, Job, import_model
from codegen.options import CompileOptions
from deploy.compiler.plan_offers import offers_facts, offers_page, offers_svg
from platforms.board_files import load_board

BUDGETS = 20


def light_behind_heavy() -> Graph:
    """The peak is in front, where rows are long; three layers behind it have room, the last but one least."""
    d = Draft()
    x = d.conv("front", d.conv("wide", d.input("x", 1, 24, 24, 4), 32), 8, stride=(2, 2))
    for name, channels in (("a", 8), ("b", 16), ("c", 8)):
        x = d.conv(name, x, channels, stride=(2, 2) if name == "a" else (1, 1))
    return d.graph(x)


def transformed() -> Graph:
    """Two layers with transformed weights, which take flash and scratch."""
    d = Draft()
    first = d.conv("first", d.input("x", 1, 8, 8, 8), 16)
    return d.graph(d.conv("second", first, 16))


# Small and medium networks in files; more budgets are asked for than plans are found.
FILES = ["tflm_hello_world_int8", "tflm_micro_speech_int8", "tiny_ad_fc_int8", "tiny_kws_dscnn_int8"]
FILES += ["tiny_ic_resnet8_int8", "tiny_vww_mbv1_int8"]
NETWORKS: dict[str, Callable[[], Graph]] = {
    "light_behind_heavy": light_behind_heavy,
    "transformed": transformed,
    "residual": GRAPHS["residual"],
}
ODD = ["long_skip", "many_formats", "attention", "time_series", "two_inputs", "classifier"]
EVERY = pytest.mark.parametrize("asked", NETWORKS, indirect=True)
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in (*ODD, *FILES)]


@pytest.fixture(scope="module")
def asked(request):
    """A network or a file by its name; its archive serves one test after the other."""
    if request.param in {*FILES, *BARS}:
        return of_a_file(request.param, request.getfixturevalue("shared_dir"))
    return Asked((NETWORKS.get(request.param) or GRAPHS[request.param])())


def of_a_file(name: str, shared_dir: Path, board: str = "mps2-an386") -> Asked:
    model = import_model(next((shared_dir / "models" / name).glob("model.*")), CompileOptions())
    return Asked(model, load_board(board).target)


class Asked:
    """A model that is asked for plans within budgets; its archive is made once."""

    def __init__(self, model: Graph | ImportedModel, target: Target = DSP) -> None:
        model = ImportedModel(model, "m", "0" * 64, "m") if isinstance(model, Graph) else model
        self.job = Job(model, target, CompileOptions())
        self.table = cycle_table(target)

    def plan(self, **options: object) -> CompiledPlan:
        return plan_job(replace(self.job, options=replace(CompileOptions(), **options)))  # type: ignore[arg-type]

    def cycles(self, **options: object) -> int:
        return predicted_cycles(self.plan(**options), self.table)

    def arenas(self) -> list[int]:
        """Budgets from the least to what the fastest plan needs."""
        least, most = self.plan(optimize=Optimize.RAM), self.plan()
        ends = least.plan.arena_bytes, max(most.plan.arena_bytes, least.plan.arena_bytes)
        return [ends[0] + (ends[1] - ends[0]) * n // (BUDGETS - 1) for n in range(BUDGETS)]


@pytest.mark.parametrize("asked", [*NETWORKS, *SLOW], indirect=True)
def test_a_larger_arena_never_means_more_cycles(asked):
    """Arenas keep to their budgets; more of them never means more cycles, nor more than the goals take."""
    found = [(budget, asked.plan(ram=budget)) for budget in asked.arenas()]
    assert all(plan.plan.arena_bytes <= budget for budget, plan in found)
    cycles = [predicted_cycles(plan, asked.table) for _, plan in found]
    assert cycles == sorted(cycles, reverse=True)
    for goal in (Optimize.RAM, Optimize.SPEED):
        plan = asked.plan(optimize=goal)
        own = plan.plan.arena_bytes, predicted_cycles(plan, asked.table)
        assert asked.cycles(ram=own[0]) <= own[1]
        assert all(its <= own[1] for (budget, _), its in zip(found, cycles, strict=True) if budget >= own[0])


@pytest.mark.parametrize("asked", [*NETWORKS, "long_skip"], indirect=True)
def test_flash_is_kept_to_and_more_of_it_never_means_more_cycles(asked):
    """Fast kernels and small ones are one offer: of both, the fastest within the flash."""
    least, most = (flash_bytes(asked.plan(optimize=goal)) for goal in (Optimize.SIZE, Optimize.SPEED))
    budgets = [least + (most - least) * n // 10 for n in range(11)]
    found = [(budget, asked.plan(flash=budget)) for budget in budgets]
    assert all(flash_bytes(plan) <= budget for budget, plan in found)
    cycles = [predicted_cycles(plan, asked.table) for _, plan in found]
    assert cycles == sorted(cycles, reverse=True)


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["tiny_ic_resnet8_int8"], indirect=True)
def test_each_step_of_flash_is_met_and_makes_resnet_no_slower(asked):
    """Ten steps from 100 to 210 KB; a step that untransformed weights fit is not refused."""
    smallest, cycles = flash_bytes(asked.plan(optimize=Optimize.SIZE)), list[int]()
    for budget in range(100_000, 210_001, 12_222):
        if budget < smallest:
            with pytest.raises(FitError, match=r"--flash"):
                asked.plan(flash=budget)
            continue
        plan = asked.plan(flash=budget)
        assert flash_bytes(plan) <= budget
        cycles.append(predicted_cycles(plan, asked.table))
    assert len(cycles) > 5
    assert cycles == sorted(cycles, reverse=True)


@pytest.mark.parametrize("asked", ["residual", "transformed"], indirect=True)
def test_more_of_one_memory_of_two_never_means_more_cycles(asked):
    """Nor is a model refused that less of it was enough for; the other memory stays as it is."""
    memories = [MemoryRegion(name, at << 20, 1 << 20, "ram", at) for at, name in enumerate(("FAST", "SLOW"))]
    job = replace(asked.job, target=replace(asked.job.target, regions=tuple(memories)))
    least, *_, most = asked.arenas()

    def cycles(fast: int, slow: int) -> float:
        limits = RegionLimit("FAST", fast), RegionLimit("SLOW", slow)
        try:
            plan = plan_job(replace(job, options=CompileOptions(ram=limits)))
        except FitError:
            return inf
        assert plan.plan.pool_bytes.get("FAST", 0) <= fast
        assert plan.plan.pool_bytes.get("SLOW", 0) <= slow
        return predicted_cycles(plan, asked.table)

    sizes = 0, least * 3 // 4, least, most
    found = np.array([[cycles(fast, slow) for slow in sizes] for fast in sizes])
    assert found[0, 0] == inf > found[-1, -1]
    assert (found[1:] <= found[:-1]).all()
    assert (found[:, 1:] <= found[:, :-1]).all()


def test_kernels_that_differ_in_integers_are_merged_for_less_flash():
    """Twins share a function, in the same order of rows."""
    asked = Asked(GRAPHS["layers_alike"](), replace(DSP, pairs_instructions=True))
    meaning, free = run_meaning(asked.job.model.graph), asked.plan()
    alike = [m for m in archive_of(meaning, asked.job).members if m.planned.plan.order == free.plan.order]
    merged = [checked_plan(meaning, m.placement, m.planned, asked.job) for m in alike]
    least = min(merged, key=flash_bytes)
    assert least.merged
    assert len(least.library.kernels) < len(free.library.kernels)
    assert flash_bytes(least) < flash_bytes(free)


def test_the_flash_that_a_refusal_names_is_enough():
    """The small kernels of --optimize size count, too."""
    asked = Asked(GRAPHS["layers_alike"]())
    with pytest.raises(FitError) as refused:
        asked.plan(flash=flash_bytes(asked.plan(optimize=Optimize.SIZE)) - 400)
    _, enough, *_ = str(refused.value.hint).split()
    assert flash_bytes(asked.plan(flash=int(enough))) == int(enough)


@pytest.mark.parametrize("asked", ["transformed"], indirect=True)
def test_constants_above_the_flash_are_refused_before_any_plan(asked, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr("codegen.fit.budgets.archive_of", lambda *_: pytest.fail("a search began"))
        with pytest.raises(FitError, match="constants alone") as refused:
            asked.plan(flash=1_000)
    (enough,) = (int(word) for word in (refused.value.hint or "").split() if word.isdigit())
    assert flash_bytes(asked.plan(flash=enough, optimize=Optimize.SIZE)) <= enough


@pytest.mark.parametrize("asked", ["transformed"], indirect=True)
def test_both_budgets_are_kept_to_at_once(asked):
    fastest, least = asked.plan(), asked.plan(optimize=Optimize.RAM)
    flash, arena = flash_bytes(fastest) - 1, (fastest.plan.arena_bytes + least.plan.arena_bytes) // 2
    plan = asked.plan(flash=flash, ram=arena)
    assert flash_bytes(plan) <= flash
    assert plan.plan.arena_bytes <= arena


@EVERY
def test_plans_within_budgets_compute_the_same(asked):
    graph = asked.job.model.graph
    types = {value: graph.types[value].shape for value in graph.inputs}
    inputs = {v: np.random.default_rng(5).integers(-128, 128, s, np.int8) for v, s in types.items()}
    wanted = run_graph(graph, inputs)
    least, *others = asked.arenas()
    for budget in (least, others[len(others) // 2], others[-1]):
        made = run_lowered(asked.plan(ram=budget).lowered, inputs)
        assert all(np.array_equal(made[value], wanted[value]) for value in graph.outputs)


@pytest.mark.parametrize("asked", ["light_behind_heavy"], indirect=True)
def test_the_archive_is_the_same_whatever_was_asked_first(asked):
    """Budgets are no part of the search: two processes that ask in another order have the same plans."""
    budgets, other = asked.arenas(), Asked(light_behind_heavy())
    backwards = [other.plan(ram=budget).plan for budget in budgets[::-1]]
    assert [asked.plan(ram=budget).plan for budget in budgets] == backwards[::-1]


@pytest.mark.parametrize("asked", ["light_behind_heavy"], indirect=True)
def test_a_thorough_search_finds_what_the_quick_one_finds_and_more(asked):
    searched = (replace(CompileOptions(), is_thorough=is_thorough) for is_thorough in (False, True))
    quick, thorough = (offers_for(replace(asked.job, options=options)) for options in searched)
    for each in quick.each:
        assert any(its.arena_bytes <= each.arena_bytes and its.cycles <= each.cycles for its in thorough.each)
    assert len(thorough.each) > len(quick.each)


def test_a_larger_budget_makes_more_layers_wide_until_all_are():
    asked = Asked(light_behind_heavy(), replace(DSP, pairs_instructions=True))

    def wide(plan: CompiledPlan) -> int:
        return sum(tensor.format.dtype_bytes == 2 for tensor in plan.lowered.tensors.values())

    budgets = asked.arenas()
    assert wide(asked.plan(ram=budgets[0])) < wide(asked.plan(ram=budgets[-1])) == wide(asked.plan())


# Arena and cycles on a Cortex-M4 by the table of layers, a tenth of a percent above what runs take.
BARS = {
    "tiny_ic_resnet8_int8": {
        14_266: 16_500_000, 16_048: 15_700_000, 21_072: 14_000_000, 23_176: 12_900_000,
        25_904: 11_850_000, 29_900: 11_450_000, 30_304: 11_330_000,
    },
    "tiny_kws_dscnn_int8": {
        5_186: 4_620_000, 5_313: 4_460_000, 5_567: 4_130_000, 6_075: 4_030_000, 6_583: 3_740_000,
    },
    "tiny_vww_mbv1_int8": {28_060: 6_400_000, 29_589: 6_080_000},
    "tflm_person_detect_int8": {13_452: 10_970_000, 13_817: 10_860_000, 15_278: 10_300_000},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("asked", BARS, indirect=True)
def test_models_reach_their_cycles_within_their_budgets(asked, request):
    bars, found = BARS[request.node.callspec.params["asked"]], {}
    for budget in bars:
        plan = asked.plan(ram=budget)
        assert plan.plan.arena_bytes <= budget
        found[budget] = predicted_cycles(plan, asked.table)
    assert {b: c for b, c in found.items() if c > bars[b]} == {}


@EVERY
def test_no_plan_is_faster_than_the_bound_of_its_arena(asked):
    offers = offers_for(asked.job)
    assert all(0 < each.bound_cycles <= each.cycles for each in offers.each)
    arenas = [each.arena_bytes for each in offers.each]
    assert arenas == sorted(arenas)
    bounds = [each.bound_cycles for each in offers.each]
    assert bounds == sorted(bounds, reverse=True)


@pytest.mark.parametrize("asked", ["transformed"], indirect=True)
def test_what_budgets_buy_is_a_page_and_a_picture(asked):
    offers = offers_for(asked.job)
    page, picture = offers_page(offers), offers_svg(offers)
    assert all(f"{each.arena_bytes:,}" in page for each in offers.each)
    assert f"cycles: {offers.source}" in page
    assert picture.count("<circle") == len(offers.each)
    assert len(offers_facts(offers)["plans"]) == len(offers.each)


@pytest.mark.slow
def test_short_code_does_not_enlarge_an_arena(shared_dir):
    """ResNet8's last layer orders all rows differently, if it is computed by plain loops on the M7."""
    assert of_a_file("tiny_ic_resnet8_int8", shared_dir, "mps2-an500").plan().plan.arena_bytes <= 42_716
