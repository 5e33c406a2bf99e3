"""Reshapes as views: finds the value at the start of a chain of reshapes."""

from __future__ import annotations

from aot.ir.graph import Graph
from aot.ops.reshape import Reshape


def behind_views(value: str, graph: Graph) -> str:
    """Returns the value before any reshapes; the value itself if it is not the result of one."""
    maker = graph.producers.get(value)
    if maker is None or not isinstance(maker.op, Reshape):
        return value
    return behind_views(maker.reads[0], graph)
