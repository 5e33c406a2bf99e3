"""Nodes that return their input unchanged are removed."""

from __future__ import annotations

from dataclasses import replace

from aot.ir.graph import Graph
from aot.ir.text import type_text
from aot.ops.activation import Activation
from aot.passes.outcome import Miss, Outcome
from aot.passes.rewrite import Change, Same, rewrite, with_renamed
from aot.patterns.pattern import Match, any_of, has_attr, is_op

_POOLS = (is_op("average_pool2d"), is_op("max_pool2d"))
_OF_PIXELS = (has_attr(pool, size=(1, 1), activation=Activation.NONE) for pool in _POOLS)
_MAY_BE_IDENTITY = any_of(is_op("reshape"), is_op("quantize"), *_OF_PIXELS)


def remove_identity(graph: Graph) -> Outcome:
    """Requires the same type on both sides, quantization included."""
    no_candidate = "no node is an identity (reshape, requantize, or pool of single pixels)"
    return rewrite(graph, _MAY_BE_IDENTITY, _passed_on, no_candidate)


def _passed_on(graph: Graph, found: Match) -> Change:
    """Passes on the node's input instead of its result; or returns why that is impossible."""
    node, result = graph.producers[found.value], found.value
    (source,) = node.reads
    x, y = graph.types[source], graph.types[result]
    if x != y:
        return Miss(f"returns {type_text(y)} for {type_text(x)}")
    if result not in graph.kept:
        return Same(source)
    # An output keeps its name, so its producer gets the name, if possible.
    if source not in graph.producers or source in graph.kept:
        return Miss(f'gives "{source}" a second name, "{result}", which is used outside of the graph')
    maker = graph.producers[source]
    named = replace(maker, outputs=tuple(result if v == source else v for v in maker.outputs))
    return with_renamed(graph, {source: result}, {node.name: None, maker.name: named})
