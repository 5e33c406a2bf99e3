"""The pipeline runs every pass in order, shows each step, and names the pass that breaks a rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aot.ir.graph import Graph
from aot.ir.text import parse_graph
from aot.ir.verify import GraphRuleError
from aot.passes import PIPELINE
from aot.passes.pipeline import PassError, run_pipeline
from aot.passes.step import Pass

GRAPH = parse_graph(
    """
    graph "g"
    input "x": i8[1,4] {0.5, 0}
    "same" = reshape(shape=[1, 4]) "x" -> "a": i8[1,4] {0.5, 0}
    "sum" = add() "a", "x" -> "y": i8[1,4] {1.0, 0}
    output "y"
    """
)


def test_on_step_sees_each_pass_with_the_graphs_before_and_after_it() -> None:
    steps: list[tuple[str, bool]] = []
    graphs: list[Graph] = [GRAPH]

    def on_step(step: Pass, before: Graph, after: Graph) -> None:
        assert before is graphs[-1]
        graphs.append(after)
        steps.append((step.name, after is not before))

    result = run_pipeline(GRAPH, on_step)
    assert result is graphs[-1]
    assert steps == [(step.name, step.name == "remove-identity") for step in PIPELINE]


def test_a_graph_with_nothing_to_do_comes_back_itself() -> None:
    result = run_pipeline(GRAPH)
    assert run_pipeline(result) is result


def test_a_broken_graph_is_refused_before_the_first_pass() -> None:
    with pytest.raises(GraphRuleError, match="every value that is mentioned has a type"):
        run_pipeline(replace(GRAPH, outputs=("z",)))


def test_a_pass_that_breaks_a_rule_is_named_with_those_before_it() -> None:
    passes = (
        Pass("good", lambda graph: graph, "first"),
        Pass("bad", lambda graph: replace(graph, nodes=graph.nodes[::-1]), "second"),
    )
    with pytest.raises(PassError) as caught:
        run_pipeline(GRAPH, passes=passes)
    assert str(caught.value) == (
        'pass bad (2 of 2, after good) broke rule "a value is read after it is made": "sum" reads "a"'
    )


def test_every_pass_says_why_it_stands_where_it_does() -> None:
    assert all(step.why for step in PIPELINE)
