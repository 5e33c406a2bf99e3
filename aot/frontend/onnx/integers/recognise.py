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

from aot.frontend.onnx.integers.affine import affine
from aot.frontend.onnx.integers.halves import with_even_halves
from aot.frontend.onnx.integers.layers import Form, product, weighted
from aot.frontend.onnx.integers.match import IntegerRewrite, Layer, layer_before
from aot.frontend.onnx.integers.moves import lift_quantisations, sink_dequantisations
from aot.frontend.onnx.integers.signed import with_quantised_inputs, with_signed_integers
from aot.frontend.onnx.integers.small import average, mean, resized, shares, sum_or_product
from aot.frontend.onnx.integers.tables import table
from aot.frontend.onnx.stored import Stored
from aot.ir.graph import Graph, Node
from aot.ir.types import DType, TensorType
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
