"""Runs the passes in order and verifies the graph before the first and after each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aot.ir.graph import Graph
from aot.ir.verify import GraphRuleError, verify
from aot.passes import PIPELINE
from aot.passes.step import Pass

OnStep = Callable[[Pass, Graph, Graph], None]  # the pass, the graph before it, the graph after it


class PassError(AssertionError):
    """A pass broke a rule of the graph: our bug."""


def run_pipeline(graph: Graph, on_step: OnStep | None = None, passes: Sequence[Pass] = PIPELINE) -> Graph:
    verify(graph)
    for index, step in enumerate(passes):
        result = step.run(graph)
        _verify_after(result, index, passes)
        if on_step is not None:
            on_step(step, graph, result)
        graph = result
    return graph


def _verify_after(graph: Graph, index: int, passes: Sequence[Pass]) -> None:
    try:
        verify(graph)
    except GraphRuleError as error:
        before = ", ".join(step.name for step in passes[:index]) or "none"
        raise PassError(
            f"pass {passes[index].name} ({index + 1} of {len(passes)}, after {before}) "
            f'broke rule "{error.rule}": {error.fact}'
        ) from error
