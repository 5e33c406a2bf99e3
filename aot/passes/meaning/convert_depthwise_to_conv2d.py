"""A depthwise convolution of one channel becomes a convolution: its kernels are faster, filters removable."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aot.ir.graph import Graph, Node
from aot.ir.types import Array, Quant
from aot.ops.conv2d import Conv2d
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.op import required
from aot.passes.mutator import Mutator
from aot.passes.outcome import Miss, Outcome


def convert_depthwise_to_conv2d(graph: Graph) -> Outcome:
    """Stores weights [rows, columns, filters] as [filters, rows, columns, 1] in a new constant."""
    return _AsConvolutions().mutate(graph)


class _AsConvolutions(Mutator):
    nothing = "there is no depthwise convolution"

    def visit_depthwise_conv2d(self, node: Node) -> Node | Miss:
        old = required(node.inputs[1])
        channels = self.graph.types[node.reads[0]].shape[3]
        if channels != 1:
            return Miss(f"has {channels} input channels")
        if old not in self.graph.constants:
            return Miss("has weights that are computed")
        weights: Array = np.ascontiguousarray(self.graph.constants[old].transpose(2, 0, 1)[..., np.newaxis])
        quant = _filters_first(self.graph.types[old].quant)
        name = self.constant(f"{old}/filters-first", weights, quant)
        return replace(
            node,
            op=_convolution(node.op_as(DepthwiseConv2d)),
            inputs=(node.inputs[0], name, *node.inputs[2:]),
        )


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
