"""A depthwise convolution of one channel becomes a convolution: better kernels, and single filters can go."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aot.ir.graph import Graph, Node
from aot.ir.types import Array, Quant, TensorType
from aot.ops.conv2d import Conv2d
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.op import required
from aot.passes.names import fresh_name
from aot.passes.outcome import Outcome, outcome


def convert_depthwise_to_conv2d(graph: Graph) -> Outcome:
    """Weights [rows, columns, filters] become [filters, rows, columns, 1] under a name of their own."""
    before, left = graph, dict[str, str]()
    for node in graph.nodes:
        if not isinstance(node.op, DepthwiseConv2d):
            continue
        channels = graph.types[node.reads[0]].shape[3]
        if channels != 1:
            left[node.name] = f"has {channels} input channels"
        elif node.inputs[1] not in graph.constants:
            left[node.name] = "has weights that are computed"
        else:
            graph = _rewritten(node, node.op, graph)
    return outcome(before, graph, left, "there is no depthwise convolution")


def _rewritten(node: Node, depthwise: DepthwiseConv2d, graph: Graph) -> Graph:
    old, stored = required(node.inputs[1]), graph.types[required(node.inputs[1])]
    name = fresh_name(f"{old}/filters-first", graph.types)
    weights: Array = np.ascontiguousarray(graph.constants[old].transpose(2, 0, 1)[..., np.newaxis])
    tensor = TensorType(stored.dtype, weights.shape, _filters_first(stored.quant))
    op = Conv2d(
        depthwise.stride,
        depthwise.dilation,
        depthwise.padding,
        depthwise.activation,
        depthwise.rounding,
        depthwise.result,
        depthwise.scales_in_single,
    )
    conv = replace(node, op=op, inputs=(node.inputs[0], name, *node.inputs[2:]))
    nodes = [conv if other is node else other for other in graph.nodes]
    return graph.with_nodes(nodes, types={name: tensor}, constants={name: weights})


def _filters_first(quant: Quant | None) -> Quant | None:
    return quant if quant is None or quant.axis is None else replace(quant, axis=0)
