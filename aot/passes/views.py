"""Reshapes as views: the value whose elements a chain of reshapes shows."""

from __future__ import annotations

from aot.ir.graph import Graph
from aot.ops.reshape import Reshape


def behind_views(value: str, graph: Graph) -> str:
    """The value itself where it is not the result of a reshape."""
    maker = graph.producers.get(value)
    if maker is None or not isinstance(maker.op, Reshape):
        return value
    return behind_views(maker.reads[0], graph)
