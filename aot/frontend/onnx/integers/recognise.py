"""Recognizes quantized models: float operators between integers become integer operators.

A file gives the scale of each value with QuantizeLinear, and DequantizeLinear before the next operator. An
operator with scales on all sides becomes the integer op that a TFLite model has, with the same cost. It
rounds like that op (aot.ops.rounding), from the exact sum. A runtime that computes in floats rounds the sum
first and may differ by one step, but not if all multipliers are powers of two (halves.py). Tables and moves
have no such difference; neither have conversions, except from 16 bits to 8, which round halves away from
zero. If a scale is missing on any side, the floats stay exactly as in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from onnx import TensorProto

from aot.frontend.onnx.draft import Stored, Value
from aot.frontend.onnx.integers.layers import (
    Form,
    affine,
    average,
    mean,
    product,
    resized,
    shares,
    sum_or_product,
    weighted,
)
from aot.frontend.onnx.integers.match import IntegerRewrite, Layer, layer_before, with_even_halves
from aot.frontend.onnx.integers.moves import (
    lift_quantisations,
    sink_dequantisations,
    with_quantised_inputs,
    with_signed_integers,
)
from aot.frontend.onnx.operation import OnnxOperator
from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType, TensorType
from aot.ops.activation import Activation
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.batch_matmul import BatchMatmul
from aot.ops.binary import Add, Mul, Sub
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.log_softmax import LogSoftmax
from aot.ops.lookup import Lookup
from aot.ops.mean import Mean
from aot.ops.op import Op
from aot.ops.quantize import Dequantize, Quantize
from aot.ops.reshape import Reshape
from aot.ops.resize import Resize
from aot.ops.softmax import Softmax
from aot.passes.meaning.merge_duplicates import without_duplicates
from aot.passes.rewrite import without_dead_code

# Tables of element-wise functions from one 8-bit value to 8 bits: 256 exact results.


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


_INTEGER_BUILDERS: Mapping[type[Op], Callable[[IntegerRewrite, Layer, Activation], Form | None]] = {
    Add: sum_or_product,
    AveragePool2d: average,
    BatchMatmul: product,
    Conv2d: weighted,
    Dense: weighted,
    DepthwiseConv2d: weighted,
    LogSoftmax: shares,
    Mean: mean,
    Mul: sum_or_product,
    Resize: resized,
    Softmax: shares,
    Sub: sum_or_product,
}
_FIRST: tuple[Callable[[Graph], Graph], ...] = (
    without_duplicates,  # so that a value that is quantized twice has one reader
    with_quantised_inputs,
    with_signed_integers,
    sink_dequantisations,
    lift_quantisations,
)


def with_integers(graph: Graph, stored: Mapping[str, Stored], mode: str) -> Graph:
    """Returns the graph with quantized groups as integer ops; `stored` has the constants' integers."""
    if not any(isinstance(node.op, Quantize | Dequantize) for node in graph.nodes):
        return graph
    for step in _FIRST:
        graph = step(graph)
    rewrite = IntegerRewrite(graph, stored, mode)
    nodes = [made for node in graph.nodes for made in (_integer_form(rewrite, node) or [node])]
    return without_dead_code(graph.with_nodes(nodes, rewrite.types, rewrite.constants))


def _integer_form(rewrite: IntegerRewrite, node: Node) -> list[Node] | None:
    """Replaces a quantization of floats by the integer op that computes the same."""
    if not isinstance(node.op, Quantize) or rewrite.graph.types[node.reads[0]].dtype is not DType.F32:
        return None
    return table(rewrite, node) or _other_steps(rewrite, node) or _layer_form(rewrite, node)


def _other_steps(rewrite: IntegerRewrite, quantise: Node) -> list[Node] | None:
    """Converts integers to another width as TFLite does; for ONNX Runtime's results, through floats."""
    x = rewrite.integers(quantise.reads[0]) if rewrite.mode != "onnx" else None
    out = rewrite.graph.types[quantise.outputs[0]]
    if x is None or x in rewrite.constants:
        return None
    op: Op = Reshape(out.shape) if rewrite.type(x) == out else Quantize(out.dtype)
    if not rewrite.fits(op, (x,), out):
        return None
    return [replace(quantise, op=op, inputs=(x,))]


def _layer_form(rewrite: IntegerRewrite, quantise: Node) -> list[Node] | None:
    layer = layer_before(rewrite.graph, quantise)
    form_of = None if layer is None else _INTEGER_BUILDERS.get(type(layer.node.op))
    if layer is None or form_of is None:
        return None
    (result,) = quantise.outputs
    out = rewrite.graph.types[result]
    activation = layer.activation(out)
    if activation is None and out.dtype is not DType.I8:
        return None
    form = form_of(rewrite, layer, activation or Activation.NONE)
    if form is None or not rewrite.fits(form.op, form.inputs, out):
        return None if activation is None else affine(rewrite, layer, activation)
    base = quantise if form.before else layer.node
    op = with_even_halves(rewrite, layer, form.op, form.inputs, out)
    made = replace(base, op=op, inputs=form.inputs, outputs=(result,))
    made_so = [made] if activation is not None else _clamped_after(rewrite, layer, made, out)
    return [*form.before, *made_so]


def _clamped_after(rewrite: IntegerRewrite, layer: Layer, node: Node, out: TensorType) -> list[Node]:
    """Implements limits that no activation has with a separate table."""
    (result,) = node.outputs
    between = rewrite.value(f"{result}/unclamped", out)
    every = np.arange(-128, 128).clip(*layer.stored_limits(out)).astype(np.int8)
    entries = rewrite.constant(f"{result}/limits", TensorType(DType.I8, every.shape, out.quant), every)
    clamp = Node(layer.quantise.name, Lookup(), (between, entries), (result,), layer.quantise.origin)
    return [replace(node, outputs=(between,)), clamp]


# Operators on quantized integers: most use the stored integers, some the values they represent.


# These move elements and keep their quantization, or define their operands' meaning themselves.
_KEEPING = frozenset(
    {
        "DequantizeLinear",
        "Flatten",
        "Identity",
        "Reshape",
        "Slice",
        "Split",
        "SplitToSequence",
        "Squeeze",
        "Transpose",
        "Unsqueeze",
    }
)
_COMPARING = frozenset({"Concat", "GlobalMaxPool", "MaxPool"})


def with_plain_integers(node: OnnxOperator) -> OnnxOperator:
    """Returns the operator over operands without quantization, if it computes with stored integers."""
    if node.proto.op_type in _KEEPING:
        return node
    return replace(
        node, operands=tuple(_plain(node, v) if isinstance(v, Value) else v for v in node.operands)
    )


def through_reals(node: OnnxOperator) -> Value | None:
    """Runs a comparison or move over floats; with_integers turns it into one op. None for others."""
    operands = [v for v in node.operands if isinstance(v, Value)]
    quants = {node.draft.types[v.name].quant for v in operands}
    (quant, *others) = quants
    if node.proto.op_type not in _COMPARING or others or quant is None or node.result_count > 1:
        return None
    floats = [Value(node.apply(Dequantize(), v.name), v.order, TensorProto.FLOAT) for v in operands]
    (made,) = node.run(node.proto, floats, node.place)
    assert isinstance(made, Value), "its importer returns one result only"
    to = Quantize(node.dtype(operands[0]), halves_to_even=True)
    name = node.draft.apply(node.place, to, (made.name,), quant)
    return Value(name, made.order, operands[0].element)


def _plain(node: OnnxOperator, value: Value) -> Value:
    tensor = node.draft.types[value.name]
    if tensor.quant is None:
        return value
    return replace(value, name=node.draft.apply(node.place, Reshape(tensor.shape), (value.name,)))
