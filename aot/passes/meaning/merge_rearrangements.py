"""A rearrangement of a rearranged value reads the original value directly."""

from __future__ import annotations

from dataclasses import replace

from aot.ir.graph import Graph, Node
from aot.ops.rearrange import Loops, Rearrange
from aot.ops.reshape import Reshape
from aot.passes.outcome import Miss, Outcome
from aot.passes.rewrite import rewrite
from aot.passes.values import behind_views
from aot.patterns.pattern import Match, is_op


def merge_rearrangements(graph: Graph) -> Outcome:
    """Merges if all readers of the first result are rearrangements that can, so that it is never stored."""
    return rewrite(graph, is_op("rearrange"), _merged, "nothing is rearranged")


def _merged(graph: Graph, found: Match) -> Graph | Miss:
    """Returns the graph in which the readers of a rearrangement's result read its input."""
    first, value = graph.producers[found.value], found.value
    (source,), inner = first.reads, first.op_as(Rearrange).loops
    readers = _readers(value, graph)
    if readers is None or not readers:
        return Miss(f'makes "{value}", which not only rearrangements read')
    loops = [each.op_as(Rearrange).loops.over(inner) for each in readers]
    merged = [_reading(each, source, ls, graph) for each, ls in zip(readers, loops, strict=True) if ls]
    if len(merged) < len(readers):
        return Miss(f'makes "{value}", which is rearranged again in an order that loops cannot follow')
    return graph.with_changed({reader.name: reader for reader in merged})


def _readers(value: str, graph: Graph) -> list[Node] | None:
    """Returns the rearrangements that read a value or views of it; None if anything else does."""
    if value in graph.kept:
        return None
    found: list[Node] = []
    for reader in graph.readers[value]:
        seen = graph.types[reader.outputs[0]]
        if isinstance(reader.op, Rearrange) and seen.quant == graph.types[reader.reads[0]].quant:
            found.append(reader)
        elif isinstance(reader.op, Reshape) and seen.quant == graph.types[value].quant:
            more = _readers(reader.outputs[0], graph)
            if more is None:
                return None
            found += more
        else:
            return None
    return found


def _reading(node: Node, source: str, loops: Loops, graph: Graph) -> Node:
    """Returns the node with these loops over the source; a reshape if they read all of it in order."""
    (made,) = graph.output_types(node)
    if loops.is_identity and made.elements == graph.types[source].elements:
        return replace(node, op=Reshape(made.shape), inputs=(behind_views(source, graph),))
    kept = (loops.in_axes(made.shape) if made.rank > 2 else None) or loops.merged()
    return replace(node, op=Rearrange(made.shape, kept.sizes, kept.strides, kept.offset), inputs=(source,))
