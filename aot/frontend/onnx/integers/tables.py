"""Tables of element-wise functions from one 8-bit value to 8 bits: 256 exact results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aot.frontend.onnx.integers.match import IntegerRewrite
from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType, TensorType
from aot.ops.lookup import Lookup
from aot.ops.op import Op
from aot.ops.quantize import Dequantize, Quantize
from aot.ops.reshape import Reshape

_MOST_STEPS = 64  # nodes between the value and its result
_EVERY = np.arange(-128, 128).astype(np.int8)


def table(rewrite: IntegerRewrite, quantise: Node) -> list[Node] | None:
    """Returns a lookup for the quantization, or a view if the integers stay the same."""
    graph, (result,) = rewrite.graph, quantise.outputs
    if graph.types[result].dtype is not DType.I8:
        return None
    search = _SourceSearch(graph)
    results = search.evaluated(quantise)
    if results is None or search.source is None:
        return None
    source, tensor = search.source, graph.types[result]
    op, inputs = _op_of(rewrite, results, source, tensor, quantise.name)
    return [replace(quantise, op=op, inputs=inputs)]


def _op_of(
    rewrite: IntegerRewrite, results: Array, source: str, tensor: TensorType, name: str
) -> tuple[Op, tuple[str, ...]]:
    if np.array_equal(results, _EVERY) and rewrite.type(source) == tensor:
        return Reshape(tensor.shape), (source,)
    entries = rewrite.constant(f"{name}/table", TensorType(DType.I8, (256,), tensor.quant), results)
    return Lookup(), (source, entries)


class _SourceSearch:
    """Searches from a result back to the single 8-bit value that it depends on."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.source: str | None = None
        self._found: dict[str, Array | None] = {}

    def evaluated(self, node: Node) -> Array | None:
        """Returns the node's result for each stored value; None if it depends on anything else."""
        steps = self._steps(node)
        for step in steps or ():
            self._found[step.outputs[0]] = self._result(step)
        return None if steps is None else self._found[node.outputs[0]]

    def _steps(self, node: Node) -> list[Node] | None:
        """Returns the nodes that compute a node's result, in execution order; None if other inputs exist."""
        found: dict[str, Node] = {}
        waiting = [node]
        while waiting:
            step = waiting.pop()
            if step.name in found:
                continue
            found[step.name] = step
            if len(found) > _MOST_STEPS or not self._goes_by_element(step):
                return None
            if isinstance(step.op, Dequantize):
                continue
            makers = [self.graph.producers.get(v) for v in step.reads if v not in self.graph.constants]
            if None in makers:
                return None
            waiting += [maker for maker in makers if maker is not None]
        return [n for n in self.graph.nodes if n.name in found]

    def _goes_by_element(self, node: Node) -> bool:
        """Returns whether each result depends on the element at its position or a shared number."""
        whole = self.graph.types[node.outputs[0]].shape
        if isinstance(node.op, Dequantize):
            (source,) = node.reads
            self.source = self.source or source
            return source == self.source and self.graph.types[source].dtype is DType.I8
        if isinstance(node.op, Quantize) and self.graph.types[node.outputs[0]].dtype is not DType.I8:
            return False
        if set(node.op.elementwise) != set(range(len(node.inputs))) or None in node.inputs:
            return False
        return all(
            self.graph.constants[v].size == 1
            if v in self.graph.constants
            else self.graph.types[v].shape == whole
            for v in node.reads
        )

    def _result(self, node: Node) -> Array | None:
        arrays, types = [], []
        for name in node.reads:
            known = self.graph.constants.get(name)
            array = known.reshape(1) if known is not None else self._found.get(name, _EVERY)
            assert array is not None
            arrays.append(array)
            types.append(replace(self.graph.types[name], shape=array.shape))
        out = replace(self.graph.types[node.outputs[0]], shape=(256,))
        with np.errstate(all="ignore"):
            (result,) = node.op.reference(arrays, types, (out,))
        return np.broadcast_to(result, (256,))
