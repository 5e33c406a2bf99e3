"""A depthwise convolution of one channel is a convolution: better kernels, and single filters can go."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aot.ir.graph import Array, Graph, Node
from aot.ir.types import Quant, TensorType
from aot.ops.conv2d import Conv2d
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.op import given
from aot.passes.names import fresh_name


def rewrite_depthwise(graph: Graph) -> Graph:
    """Weights [rows, columns, filters] become [filters, rows, columns, 1] under a name of their own."""
    for node in graph.nodes:
        if _has_one_channel(node, graph):
            graph = _rewritten(node, graph)
    return graph


def _has_one_channel(node: Node, graph: Graph) -> bool:
    is_known = node.inputs[1] in graph.constants if len(node.inputs) > 1 else False
    return isinstance(node.op, DepthwiseConv2d) and is_known and graph.types[node.reads[0]].shape[3] == 1


def _rewritten(node: Node, graph: Graph) -> Graph:
    assert isinstance(node.op, DepthwiseConv2d)
    old, stored = given(node.inputs[1]), graph.types[given(node.inputs[1])]
    name = fresh_name(f"{old}/filters-first", graph.types)
    weights: Array = np.ascontiguousarray(graph.constants[old].transpose(2, 0, 1)[..., np.newaxis])
    tensor = TensorType(stored.dtype, weights.shape, _filters_first(stored.quant))
    old_op = node.op
    op = Conv2d(
        old_op.stride, old_op.dilation, old_op.padding, old_op.activation, old_op.rounding, old_op.result
    )
    conv = replace(node, op=op, inputs=(node.inputs[0], name, *node.inputs[2:]))
    nodes = [conv if other is node else other for other in graph.nodes]
    return graph.with_nodes(nodes, types={name: tensor}, constants={name: weights})


def _filters_first(quant: Quant | None) -> Quant | None:
    return quant if quant is None or quant.axis is None else replace(quant, axis=0)
