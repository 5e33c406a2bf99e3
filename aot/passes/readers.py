"""Other users of a value: a rewriting may change or drop only values without other users."""

from __future__ import annotations

from collections.abc import Sequence

from aot.ir.graph import Graph, Node
from aot.passes.outcome import Miss

_MOST_NAMED = 8


def needed_elsewhere(graph: Graph, value: str) -> Miss | None:
    """Returns why a value must exist besides its one reader; None if it need not."""
    if value in graph.kept:
        return Miss(f'reads "{value}", which is {_kept_as(graph, value)}')
    if len(graph.readers[value]) > 1:
        return Miss(f'reads "{value}", which has several readers: {_listed(graph.readers[value])}')
    return None


def _listed(nodes: Sequence[Node]) -> str:
    """Joins the nodes' names; of very many only the first: each of a thousand readers may list all."""
    names = ", ".join(f'"{node.name}"' for node in nodes[:_MOST_NAMED])
    more = len(nodes) - _MOST_NAMED
    return f"{names} and {more:,} more" if more > 0 else names


def _kept_as(graph: Graph, value: str) -> str:
    return "an output" if value in graph.outputs else "the next value of a state"


def source_of(graph: Graph, value: str) -> str:
    """Returns the kind of a value that no node computes."""
    if value in graph.constants:
        return "a constant"
    return "an input" if value in graph.inputs else "a state"
