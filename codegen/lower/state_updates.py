"""Finds states that are updated in place: the next value is the old one with some rows written or shifted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from aot.ir.graph import Graph, Node, State
from aot.ops.update_slice import UpdateSlice
from aot.ops.write_rows import ShiftRows, WriteRows
from codegen.lower.views import is_view

_UPDATES = (WriteRows, ShiftRows, UpdateSlice)


def updated_states(graph: Graph) -> Mapping[str, str]:
    """Maps the result of each update that is written in place to the state whose memory it is.

    Nothing may read an older value after the update that overwrites it.
    """
    position = {node.name: number for number, node in enumerate(graph.nodes)}
    return {
        node.outputs[0]: state.name for state in graph.states for node in _in_place(graph, state, position)
    }


def _in_place(graph: Graph, state: State, position: Mapping[str, int]) -> list[Node]:
    """Returns the updates that lead from the state to its next value; none if one needs a copy."""
    updates, value = list[Node](), state.next
    while value != state.name:
        node = graph.producers.get(value)
        if node is None or not (is_view(node) or _is_update(graph, node)):
            return []
        updates += [] if is_view(node) else [node]
        value = node.reads[0]
    return updates if all(_is_last_reader(graph, node, position) for node in updates) else []


def _is_update(graph: Graph, node: Node) -> bool:
    """Returns whether it changes rows of its first input; constant ones may be in another address space."""
    return isinstance(node.op, _UPDATES) and node.reads[1] not in graph.constants


def _is_last_reader(graph: Graph, update: Node, position: Mapping[str, int]) -> bool:
    """Returns whether the update is the last to read its old value, which nothing needs afterwards."""
    old = list(_views(graph, _source(graph, update.reads[0])))
    readers = [node for value in old for node in graph.readers[value] if not is_view(node)]
    is_over = all(position[node.name] <= position[update.name] for node in readers)
    reads_once = sum(value in old for value in update.reads) == 1
    return is_over and reads_once and not any(value in graph.kept for value in old)


def _source(graph: Graph, value: str) -> str:
    """Returns the value that a chain of views shows."""
    node = graph.producers.get(value)
    while node is not None and is_view(node):
        value = node.reads[0]
        node = graph.producers.get(value)
    return value


def _views(graph: Graph, value: str) -> Iterator[str]:
    """Yields the value and everything that shows its memory."""
    yield value
    for node in graph.readers[value]:
        if is_view(node):
            yield from _views(graph, node.outputs[0])
