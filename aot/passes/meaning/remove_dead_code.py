"""Nodes whose results reach no output are removed."""

from __future__ import annotations

from aot.ir.graph import Graph
from aot.passes.outcome import Outcome, outcome
from aot.passes.rewrite import without_dead_code


def remove_dead_code(graph: Graph) -> Outcome:
    """Keeps unused inputs, because they are part of the model's interface."""
    return outcome(graph, without_dead_code(graph), {}, "every node is needed for an output or a state")
