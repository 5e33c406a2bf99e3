"""Finds channels of an int8 network that no reader needs.

A channel can be removed if each of its readers works without it. The channel may be constant, so that the
reader's bias can include it, or equal the reader's zero point. The reader's weights for it may be zero, or
the reader's result may itself be removed. The search starts with all channels and keeps those that a
producer or reader needs, until nothing changes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from aot.ir.graph import Graph, Node
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.max_pool2d import MaxPool2d
from aot.ops.op import required
from aot.ops.requant import quant_of
from aot.ops.reshape import Reshape
from aot.ops.spatial import NO_PADDING
from aot.passes.channel_ranges import Range

Mask = npt.NDArray[np.bool_]

_MIXING = (Conv2d, Dense)  # every output channel reads every input channel
_CHANNEL_BY_CHANNEL = (AveragePool2d, DepthwiseConv2d, MaxPool2d, Reshape)


def dead_channels(graph: Graph, ranges: dict[str, Range]) -> dict[str, Mask]:
    """Returns a mask of removable channels for each value that may lose some."""
    dead = {
        name: np.ones(graph.types[name].shape[-1], np.bool_)
        for node in graph.nodes
        for name in node.outputs
        if name in ranges and name not in graph.kept and _can_lose_channels(node, graph)
    }
    while _keep_needed(graph, ranges, dead) or _keep_one_of_all(dead):
        pass
    return dead


def _can_lose_channels(node: Node, graph: Graph) -> bool:
    if isinstance(node.op, Reshape):
        (x,), (y,) = graph.input_types(node), graph.output_types(node)
        return required(x).rank > 0 and y.rank > 0 and required(x).shape[-1] == y.shape[-1]
    if isinstance(node.op, Conv2d | Dense | DepthwiseConv2d):
        return _has_constant_weights(node, graph)
    return isinstance(node.op, _CHANNEL_BY_CHANNEL)


def _has_constant_weights(node: Node, graph: Graph) -> bool:
    return all(name is None or name in graph.constants for name in node.inputs[1:])


def _keep_needed(graph: Graph, ranges: dict[str, Range], dead: dict[str, Mask]) -> bool:
    """Removes needed channels from `dead`, once backwards and forwards. Returns whether there were any.

    The needs of readers propagate backwards: with one direction only, each round would reach one more layer.
    """
    before = sum(int(mask.sum()) for mask in dead.values())
    for node in (*graph.nodes, *reversed(graph.nodes)):
        if node.outputs[0] in dead:
            dead[node.outputs[0]] &= _producer_allows(node, dead)
        for name in node.reads:
            if name in dead:
                dead[name] &= _reader_allows(node, name, graph, ranges, dead)
    return sum(int(mask.sum()) for mask in dead.values()) < before


def _keep_one_of_all(dead: dict[str, Mask]) -> bool:
    """Keeps at least one channel of each tensor. Returns whether a tensor was about to lose all."""
    empty = next((mask for mask in dead.values() if mask.all()), None)
    if empty is None:
        return False
    empty[0] = False
    return True


def _producer_allows(node: Node, dead: dict[str, Mask]) -> Mask | bool:
    if isinstance(node.op, _MIXING):
        return True
    mask = dead.get(node.reads[0])
    return False if mask is None else np.repeat(mask, _outputs_per_channel(node))


def _reader_allows(
    node: Node, name: str, graph: Graph, ranges: dict[str, Range], dead: dict[str, Mask]
) -> Mask | bool:
    result = dead.get(node.outputs[0])
    if isinstance(node.op, _CHANNEL_BY_CHANNEL):
        if result is None:
            return False
        return np.asarray(result.reshape(-1, _outputs_per_channel(node)).all(axis=1))
    if not isinstance(node.op, _MIXING) or name != node.inputs[0] or not _has_constant_weights(node, graph):
        return False
    weights = graph.constants[required(node.inputs[1])]
    live = weights if result is None else weights[~result]
    unread = ~live.any(axis=tuple(range(live.ndim - 1)))
    return np.asarray(unread | _foldable(node, graph, ranges[name]), np.bool_)


def _foldable(node: Node, graph: Graph, x: Range) -> Mask:
    """Returns a mask of channels that are constant and add the same to every result, also in the padding."""
    zero = quant_of(graph.types[node.reads[0]]).zero_point
    has_borders = isinstance(node.op, Conv2d) and node.op.padding != NO_PADDING
    return np.asarray(x.is_constant & (~np.bool_(has_borders) | (x.low == zero)), np.bool_)


def _outputs_per_channel(node: Node) -> int:
    return node.op.multiplier if isinstance(node.op, DepthwiseConv2d) else 1
