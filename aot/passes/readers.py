"""Other users of a value: a rewriting may only change or drop what nobody else needs."""

from __future__ import annotations

from aot.ir.graph import Graph
from aot.passes.outcome import Miss


def needed_elsewhere(graph: Graph, value: str) -> Miss | None:
    """The reason for which a value must stay beside the one node that reads it; None if it need not."""
    if value in graph.kept:
        return Miss(f'reads "{value}", which is {_kept_as(graph, value)}')
    if len(graph.readers[value]) > 1:
        names = ", ".join(f'"{node.name}"' for node in graph.readers[value])
        return Miss(f'reads "{value}", which has several readers: {names}')
    return None


def _kept_as(graph: Graph, value: str) -> str:
    return "an output" if value in graph.outputs else "the next value of a state"


def source_of(graph: Graph, value: str) -> str:
    """The kind of a value that no node makes."""
    if value in graph.constants:
        return "a constant"
    return "an input" if value in graph.inputs else "a state"
