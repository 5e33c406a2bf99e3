"""Attention reads int8 caches and their scales itself, instead of floats that are computed from all rows.

A file multiplies each row of integers by its scale before attention. As a value of its own, that product
would be a second cache, of floats, and each run would compute it whole.
"""

from __future__ import annotations

from dataclasses import replace

from aot.ir.graph import Graph, Node
from aot.ir.types import DType, TensorType
from aot.ops.binary import Mul
from aot.ops.convert import Convert
from aot.passes.outcome import Miss, Outcome
from aot.passes.rewrite import rewrite
from aot.patterns.pattern import Match, is_op


def attend_to_integers(graph: Graph) -> Outcome:
    """Rewrites attention whose keys and values both are int8 with a scale for each row."""
    return rewrite(graph, is_op("cached_attention"), _on_integers, "there is no attention to a cache")


def _on_integers(graph: Graph, found: Match) -> Node | Miss:
    node = graph.producers[found.value]
    q, *caches, length = node.reads[:4]
    if any(graph.types[each].dtype is not DType.F32 for each in caches):
        return Miss("reads integers already")
    scaled = [_scaled(graph, each) for each in caches]
    if None in scaled:
        return Miss("reads keys or values that are no int8 rows with a scale each")
    (keys, key_scales), (values, value_scales) = (each for each in scaled if each is not None)
    return replace(node, inputs=(q, keys, values, length, key_scales, value_scales))


def _scaled(graph: Graph, value: str) -> tuple[str, str] | None:
    """Returns the integers and the scales whose product the value is."""
    product = graph.producers.get(value)
    if product is None or product.op != Mul():
        return None
    shape = graph.types[value].shape
    for numbers, scales in (product.reads, product.reads[::-1]):
        widened = graph.producers.get(numbers)
        is_widened = widened is not None and isinstance(widened.op, Convert)
        source = widened.reads[0] if widened is not None and is_widened else scales
        are_rows = graph.types[source].dtype is DType.I8 and graph.types[source].shape == shape
        if are_rows and graph.types[scales] == TensorType(DType.F32, (*shape[:-1], 1)):
            return source, scales
    return None
