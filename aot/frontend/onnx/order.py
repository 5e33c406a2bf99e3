"""Sorts nodes into execution order: the format requires it, but not every tool obeys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from onnx import ModelProto, NodeProto


def in_order(nodes: Sequence[NodeProto]) -> list[tuple[int, NodeProto]]:
    """Returns nodes with their numbers in the file, producers before their readers; stable.

    In a cycle, a node comes before one that it reads.
    """
    makers = {name: number for number, node in enumerate(nodes) for name in node.output if name}
    order: list[tuple[int, NodeProto]] = []
    seen: set[int] = set()
    for first in range(len(nodes)):
        if first in seen:
            continue
        seen.add(first)
        path = [(first, _sources(nodes[first], makers))]
        while path:
            number, sources = path[-1]
            source = next((s for s in sources if s not in seen), None)
            if source is None:
                order.append((number, nodes[number]))
                path.pop()
            else:
                seen.add(source)
                path.append((source, _sources(nodes[source], makers)))
    return order


def _sources(node: NodeProto, makers: Mapping[str, int]) -> Iterator[int]:
    return (makers[name] for name in reads(node) if name in makers)


def reads(node: NodeProto) -> Iterator[str]:
    """Yields the values that a node reads, including its branches and bodies."""
    yield from node.input
    for attribute in node.attribute:
        for graph in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
            yield from (output.name for output in graph.output)
            for inner in graph.node:
                yield from reads(inner)


def names_read(model: ModelProto) -> frozenset[str]:
    """Returns the names that nodes of the file read, including bodies and functions, and its outputs."""
    nodes = [*model.graph.node, *(node for function in model.functions for node in function.node)]
    outputs = [*(o.name for o in model.graph.output), *(n for f in model.functions for n in f.output)]
    return frozenset(outputs).union(*map(reads, nodes)) - {""}
