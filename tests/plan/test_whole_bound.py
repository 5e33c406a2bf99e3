"""What whole tensors need at least: counted of what lives in memory, found late, reported as a bound."""

from __future__ import annotations

from dataclasses import replace

import pytest
from graphs import GRAPHS
from model_checks import DSP, OPTIONS, compiled

from aot.ir.text import parse_graph
from aot.plan.wholes import whole_tensor_bound
from artifact.facts import ModelFacts, facts_of
from artifact.memory_svg import draw_memory_svg
from artifact.report import make_report
from deploy.inspection.inspect_page import summary

GRAPH = """\
graph "g"
input "x": i8[1,2] {1.0, 0}
constant "a": i8[2] {0.5, 0} = [3, -4]
"flat" = reshape(shape=[1, 2]) "a" -> "b": i8[1,2] {0.5, 0}
"twice" = add() "b", "b" -> "c": i8[1,2] {0.5, 0}
"sum" = add() "x", "c" -> "y": i8[1,2] {1.0, 0}
output "y"
"""


def test_what_is_computed_from_constants_alone_takes_no_memory() -> None:
    assert whole_tensor_bound(parse_graph(GRAPH)) == 4


def test_inputs_and_outputs_count_where_they_are_not_apart() -> None:
    graph = parse_graph(GRAPH)
    assert (whole_tensor_bound(graph), whole_tensor_bound(graph, caller_owns_io=True)) == (4, 0)


def test_a_compile_does_not_look_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[bool] = []
    monkeypatch.setattr("codegen.model.whole_tensor_bound", lambda _, is_owned: calls.append(is_owned) or 7)  # type: ignore[func-returns-value]
    model = compiled(GRAPHS["residual"](), DSP, OPTIONS["speed"], "m")
    assert model.sources
    assert calls == []
    assert (model.whole_tensor_bound_bytes, model.whole_tensor_bound_bytes, calls) == (7, 7, [False])


def facts_with_bound(above_arena: int) -> ModelFacts:
    facts = facts_of(compiled(GRAPHS["residual"](), DSP, OPTIONS["speed"], "m"))
    bound = facts.arena_bytes + above_arena
    return replace(facts, memory=replace(facts.memory, whole_tensor_bound_bytes=bound))


def test_it_is_reported_as_a_bound() -> None:
    facts = facts_with_bound(1)
    said = f"; whole tensors need at least {facts.arena_bytes + 1:,}"
    assert summary(make_report(facts), None).endswith(said)
    assert f"bytes of arena{said}" in draw_memory_svg(facts)


@pytest.mark.parametrize("above_arena", [0, -1])
def test_a_bound_that_is_no_higher_than_the_arena_is_not_told(above_arena: int) -> None:
    facts = facts_with_bound(above_arena)
    assert "whole tensors" not in summary(make_report(facts), None)
    assert "whole tensors" not in draw_memory_svg(facts)
