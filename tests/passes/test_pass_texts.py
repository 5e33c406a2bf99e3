"""Each pass on the graphs in <pass>.txt: a title, the graph before and after, and the reasons.

Cases are parted by lines with `/// title`, before and after by a line `becomes`. A line `leaving` begins the
nodes that were left alone, each with its reason. A graph that stays as it was is the line `same`, with the
reason behind a line `because`. A line `with max_slowdown=0.3 streamed` under the title is the goal of a pass
of PLACEMENT, `with slow_sums=a,b` that of one of VARIANT, `with device=npu takes=add refuses=mul` that of
one of REGIONS. Whatever a pass does, the graph keeps the rules and gives the same outputs.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from op_case import random_values

from aot.interpret import run_graph
from aot.ir.graph import Graph, Node
from aot.ir.region import DeviceRegion
from aot.ir.text import parse_graph, print_graph
from aot.ir.types import Array
from aot.ir.verify import verify
from aot.passes.goals import PlacementGoal, RegionGoal, VariantGoal
from aot.passes.outcome import Miss, Outcome, Rewritten, Unchanged, reason_lines
from aot.passes.partition.claims import claims_by_node
from aot.passes.pipeline import TABLES, meaning_passes, placement_passes, region_passes, variant_passes
from codegen.fit.placement_search import MEASURED_COSTS

FOLDER = Path(__file__).parent
STEMS = [name.replace("-", "_") for names in TABLES.values() for name in names]


class Case(NamedTuple):
    stem: str
    title: str
    goal: str
    before: str
    after: str

    def run(self, graph: Graph) -> Outcome:
        on_placement = placement_passes(parse_goal(self.goal))
        on_variant = variant_passes(parse_variant_goal(self.goal))
        on_regions = region_passes(parse_region_goal(self.goal))
        passes = (*meaning_passes(), *on_regions, *on_placement, *on_variant)
        (found,) = (each for each in passes if each.name.replace("-", "_") == self.stem)
        return found.run(graph)


def parse_goal(words: str) -> PlacementGoal:
    settings = dict(word.split("=") for word in words.split() if "=" in word)
    slowdown = float(settings.get("max_slowdown", 0.0))
    return PlacementGoal(MEASURED_COSTS, slowdown, "streamed" in words.split())


def parse_variant_goal(words: str) -> VariantGoal:
    _, _, names = words.partition("slow_sums=")
    return VariantGoal(dict.fromkeys(filter(None, names.split(",")), "a pass of its own is faster"))


def parse_region_goal(words: str) -> RegionGoal:
    settings = dict(word.split("=") for word in words.split() if "=" in word)
    takes, refuses = (settings.get(key, "").split(",") for key in ("takes", "refuses"))

    def refusal(_graph: Graph, node: Node) -> Miss | None:
        return None if node.op.name in takes else Miss(f"the device computes no {node.op.name}")

    def misfit(_graph: Graph, node: Node) -> str:
        assert isinstance(node.op, DeviceRegion)
        found = [each.op.name for each in node.op.graph.nodes if each.op.name in refuses]
        return f"only for regions without {found[0]}" if found else ""

    device = settings.get("device", "npu")
    return RegionGoal(device, partial(claims_by_node, device, refusal), misfit)


def cases() -> Iterator[Case]:
    for stem in STEMS:
        _, *parts = (FOLDER / f"{stem}.txt").read_text(encoding="utf-8").split("/// ")
        for part in parts:
            title, _, body = part.partition("\n")
            goal, body = body.split("\n", 1) if body.startswith("with ") else ("", body)
            before, separator, after = body.partition("\nbecomes\n")
            assert separator, f"{stem}.txt: {title}: no line `becomes`"
            yield Case(stem, title, goal.removeprefix("with "), before.strip() + "\n", after.strip() + "\n")


CASES = list(cases())

ROUNDING_ELSEWHERE = {"fold_scales", "roll_up_recurrences"}


def text_of(outcome: Outcome) -> str:
    """An outcome as the cases write it."""
    if isinstance(outcome, Unchanged):
        return f"same\nbecause\n{outcome.because}\n"
    left = "".join(f"{line}\n" for line in reason_lines(outcome.left_alone))
    return print_graph(outcome.graph) + (f"leaving\n{left}" if left else "")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.stem}: {case.title}")
def test_a_pass_does_what_its_text_says_and_says_why_not(case):
    assert text_of(case.run(parse_graph(case.before))) == case.after


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.stem}: {case.title}")
def test_a_pass_keeps_rules_and_outputs(case):
    graph = parse_graph(case.before)
    verify(graph)
    outcome = case.run(graph)
    result = outcome.graph if isinstance(outcome, Rewritten) else graph
    verify(result)
    for seed in range(20):
        inputs = random_inputs(graph, seed)
        # A streamed input may get another shape; its bytes stay.
        reshaped = {name: array.reshape(result.types[name].shape) for name, array in inputs.items()}
        before, after = run_graph(graph, inputs), run_graph(result, reshaped)
        assert before.keys() == after.keys()
        assert all(same(case.stem, before[name], after[name]) for name in before)


def same(stem: str, before: Array, after: Array) -> bool:
    """In every bit, unless the pass rounds floats elsewhere."""
    if stem in ROUNDING_ELSEWHERE:
        return before.dtype == after.dtype and np.allclose(before, after, rtol=1e-6, atol=1e-6)
    return np.array_equal(before, after)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.stem}: {case.title}")
def test_a_pass_has_nothing_left_to_do_on_its_own_result(case):
    outcome = case.run(parse_graph(case.before))
    if isinstance(outcome, Rewritten):
        assert isinstance(case.run(outcome.graph), Unchanged)


@pytest.mark.parametrize("stem", STEMS)
def test_a_pass_has_cases_that_match_and_that_do_not(stem):
    left_alone = [case.after.startswith("same\n") for case in CASES if case.stem == stem]
    assert any(left_alone)
    assert not all(left_alone)


@pytest.mark.parametrize("folder", [name.lower() for name in TABLES])
def test_each_file_of_a_table_is_a_pass_of_it(folder, repo_root):
    files = {path.stem for path in (repo_root / "aot" / "passes" / folder).glob("*.py")} - {"__init__"}
    assert files == {name.replace("-", "_") for name in TABLES[folder.upper()]}


def random_inputs(graph: Graph, seed: int) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    return {name: random_values(rng, graph.types[name]) for name in graph.inputs}
