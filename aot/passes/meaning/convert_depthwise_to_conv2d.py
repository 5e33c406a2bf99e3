"""A depthwise convolution of one channel becomes a convolution: its kernels are faster, filters removable."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aot.ir.graph import Graph
from aot.ir.types import Array, Quant
from aot.ops.conv2d import Conv2d
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.passes.outcome import Miss, Outcome
from aot.passes.rewrite import rewrite, with_replaced
from aot.passes.values import NewValues
from aot.patterns.pattern import Match, is_op


def convert_depthwise_to_conv2d(graph: Graph) -> Outcome:
    """Stores weights [rows, columns, filters] as [filters, rows, columns, 1] in a new constant."""
    return rewrite(graph, is_op("depthwise_conv2d"), _as_conv2d, "there is no depthwise convolution")


def _as_conv2d(graph: Graph, found: Match) -> Graph | Miss:
    node = graph.producers[found.value]
    x, old = node.reads[:2]
    channels = graph.types[x].shape[3]
    if channels != 1:
        return Miss(f"has {channels} input channels")
    if old not in graph.constants:
        return Miss("has weights that are computed")
    kind, new = graph.types[old], NewValues(graph)
    weights: Array = np.ascontiguousarray(graph.constants[old].transpose(2, 0, 1)[..., np.newaxis])
    kind = replace(kind, shape=weights.shape, quant=_filters_first(kind.quant))
    name = new.constant(f"{old}/filters-first", kind, weights)
    op = _convolution(node.op_as(DepthwiseConv2d))
    whole = replace(node, op=op, inputs=(x, name, *node.inputs[2:]))
    return with_replaced(graph, node, whole, types=new.types, constants=new.constants)


def _convolution(depthwise: DepthwiseConv2d) -> Conv2d:
    return Conv2d(
        depthwise.stride,
        depthwise.dilation,
        depthwise.padding,
        depthwise.activation,
        depthwise.rounding,
        depthwise.result,
        depthwise.scales_in_single,
    )


def _filters_first(quant: Quant | None) -> Quant | None:
    return quant if quant is None or quant.axis is None else replace(quant, axis=0)
