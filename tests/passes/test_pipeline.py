"""Passes run in their order, say what they did, and are named when they break a rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import pytest

from aot.extensions import PASSES, register, unregister
from aot.ir.graph import Graph
from aot.ir.text import parse_graph
from aot.ir.verify import GraphRuleError
from aot.passes import MEANING
from aot.passes.goals import PlacementGoal, VariantGoal
from aot.passes.outcome import Outcome, Rewritten, Unchanged
from aot.passes.pipeline import PassError, run_meaning, run_passes
from aot.passes.table import TABLES, Pass, meaning_passes, placement_passes, variant_passes
from codegen.fit.placement_search import MEASURED_COSTS
from codegen.options import read_options

GRAPH = parse_graph(
    """
    graph "g"
    input "x": i8[1,4] {0.5, 0}
    "same" = reshape(shape=[1, 4]) "x" -> "a": i8[1,4] {0.5, 0}
    "sum" = add() "a", "x" -> "y": i8[1,4] {1.0, 0}
    output "y"
    """
)
GOAL = PlacementGoal(MEASURED_COSTS, max_slowdown=0.05, is_streamed=False)


def test_each_step_has_the_graphs_before_and_after_it() -> None:
    run = run_meaning(GRAPH)
    assert [step.what.name for step in run.steps] == [*MEANING]
    assert [step.what.name for step in run.steps if isinstance(step.outcome, Rewritten)] == [
        "remove-identity"
    ]
    graphs = [GRAPH, *(step.after for step in run.steps)]
    assert all(step.before is before for step, before in zip(run.steps, graphs, strict=False))
    assert run.graph is graphs[-1]


def test_a_graph_with_nothing_to_do_comes_back_itself() -> None:
    result = run_meaning(GRAPH).graph
    assert run_meaning(result).graph is result


def test_a_disabled_pass_does_not_run() -> None:
    run = run_meaning(GRAPH, disabled={"remove-identity"})
    assert run.graph is GRAPH
    (step,) = (step for step in run.steps if step.what.name == "remove-identity")
    assert step.outcome == Unchanged("it was disabled")


def test_a_broken_graph_is_refused_before_the_first_pass() -> None:
    with pytest.raises(GraphRuleError, match="every value that is used has a type"):
        run_meaning(replace(GRAPH, outputs=("z",)))


def backwards(graph: Graph) -> Outcome:
    return Rewritten(replace(graph, nodes=graph.nodes[::-1]))


def boasting(graph: Graph) -> Outcome:
    return Rewritten(graph)


@pytest.mark.parametrize(
    ("run", "fault"),
    [
        (backwards, 'broke rule "a value is read after it is computed": "sum" reads "a"'),
        (boasting, "returned Rewritten with its unchanged input"),
    ],
)
def test_a_pass_that_breaks_a_rule_is_named_with_its_table_and_those_before_it(
    run: Callable[[Graph], Outcome], fault: str
) -> None:
    good = Pass("good", "PLACEMENT", "It is good.", lambda graph: Unchanged("it is good"), "first")
    with pytest.raises(PassError) as caught:
        run_passes(GRAPH, (good, Pass("bad", "PLACEMENT", "It is bad.", run, "second")))
    assert str(caught.value) == f"pass bad (2 of 2 in PLACEMENT, after good) {fault}"


def test_passes_of_placement_are_verified_as_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "aot.passes.placement.split_sequences_into_rows.split_sequences_into_rows"
    monkeypatch.setattr(name, lambda graph, goal: backwards(graph))
    with pytest.raises(PassError, match=r"pass split-sequences-into-rows \(4 of 5 in PLACEMENT, after"):
        run_passes(GRAPH, placement_passes(GOAL))


def test_every_pass_says_why_it_stands_where_it_does() -> None:
    every = (*meaning_passes(), *placement_passes(GOAL), *variant_passes(VariantGoal({})))
    assert all(step.why for step in every)


def test_a_name_stands_for_one_pass() -> None:
    names = [name for table in TABLES.values() for name in table]
    assert len(names) == len({*names})


def test_a_pass_from_outside_stands_where_it_says_and_can_be_disabled() -> None:
    module = ModuleType("outside", "It does nothing.")
    vars(module).update(
        TABLE="MEANING",
        BEFORE="fold-scales",
        WHY="as a test",
        do_nothing=lambda graph: Unchanged("it does nothing"),
    )
    register(PASSES, "do-nothing", module)
    try:
        names = [each.name for each in meaning_passes()]
        assert names[names.index("fold-scales") - 1] == "do-nothing"
        assert read_options({"disable": "do-nothing"}).disabled_passes == ("do-nothing",)
    finally:
        unregister(PASSES, "do-nothing")
