"""Attention reads int8 caches and their scales itself, instead of floats that are computed from all rows.

A file multiplies each row of integers by its scale before attention. As a value of its own, that product
would be a second cache, of floats, and each run would compute it whole.
"""

from __future__ import annotations

from dataclasses import replace

from aot.ir.graph import Graph, Node
from aot.ir.types import DType
from aot.ops.binary import Mul
from aot.ops.convert import Convert
from aot.passes.mutator import Change, Mutator
from aot.passes.outcome import Miss, Outcome


def attend_to_integers(graph: Graph) -> Outcome:
    """Rewrites attention whose keys and values both are int8 with a scale for each row."""
    return _Attention().mutate(graph)


class _Attention(Mutator):
    nothing = "there is no attention to a cache"

    def visit_cached_attention(self, node: Node) -> Change:
        q, *caches, length = node.reads[:4]
        if any(self.graph.types[each].dtype is not DType.F32 for each in caches):
            return Miss("reads integers already")
        found = [self._scaled(each) for each in caches]
        if None in found:
            return Miss("reads keys or values that are no int8 rows with a scale each")
        (keys, key_scales), (values, value_scales) = (each for each in found if each is not None)
        return replace(node, inputs=(q, keys, values, length, key_scales, value_scales))

    def _scaled(self, value: str) -> tuple[str, str] | None:
        """Returns the integers and the scales whose product the value is."""
        product = self.graph.producers.get(value)
        if product is None or product.op != Mul():
            return None
        wanted = (*self.graph.types[value].shape[:-1], 1)
        for numbers, scales in (product.reads, product.reads[::-1]):
            widened = self.graph.producers.get(numbers)
            is_widened = widened is not None and isinstance(widened.op, Convert)
            source = widened.reads[0] if widened is not None and is_widened else scales
            are_rows = self.graph.types[source].shape == self.graph.types[value].shape
            if self.graph.types[source].dtype is DType.I8 and are_rows and self._is(scales, wanted):
                return source, scales
        return None

    def _is(self, value: str, shape: tuple[int, ...]) -> bool:
        kind = self.graph.types[value]
        return kind.dtype is DType.F32 and kind.shape == shape
