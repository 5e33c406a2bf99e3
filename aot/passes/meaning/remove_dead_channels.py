"""Channels without information are removed from int8 networks; results stay equal bit for bit.

The contributions of dead channels are added to the biases of their readers. Sums that overflow 32 bits would
change, but no reference defines those.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType, Quant, TensorType
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.max_pool2d import MaxPool2d
from aot.ops.op import required
from aot.ops.requant import Ints, quant_of
from aot.ops.reshape import Reshape
from aot.ops.spatial import NO_PADDING
from aot.passes.channel_ranges import Range, channel_ranges
from aot.passes.outcome import Outcome, Rewritten, Unchanged
from aot.passes.values import NewValues
from aot.wording import counted

# Finds channels of an int8 network that no reader needs.
#
# A channel can be removed if each of its readers works without it. The channel may be constant, so that the
# reader's bias can include it, or equal the reader's zero point. The reader's weights for it may be zero, or
# the reader's result may itself be removed. The search starts with all channels and keeps those that a
# producer or reader needs, until nothing changes.

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


def remove_dead_channels(graph: Graph) -> Outcome:
    ranges = channel_ranges(graph)
    dead = dead_channels(graph, ranges)
    if any(mask.any() for mask in dead.values()):
        return Rewritten(_Cutter(graph, ranges, dead).cut())
    if not dead:
        return Unchanged("there is no int8 value between layers with constant weights")
    values = counted(len(dead), "int8 value")
    return Unchanged(f"each channel of {values} can change, and has a reader with a weight other than 0")


class _Cutter(NewValues):
    """Builds the graph without the dead channels."""

    def __init__(self, graph: Graph, ranges: dict[str, Range], dead: dict[str, Mask]) -> None:
        super().__init__(graph)
        self._ranges = ranges
        self._dead = {name: mask for name, mask in dead.items() if mask.any()}

    def cut(self) -> Graph:
        for name, mask in self._dead.items():
            tensor = self.graph.types[name]
            self.types[name] = replace(tensor, shape=(*tensor.shape[:-1], int((~mask).sum())))
        nodes = [self._cut(node) for node in self.graph.nodes]
        return self.graph.with_nodes(nodes, types=self.types, constants=self.constants)

    def _cut(self, node: Node) -> Node:
        if not self._dead.keys() & {node.reads[0], node.outputs[0]}:
            return node
        return _CUTS.get(type(node.op), _Cutter._unchanged)(self, node)

    def _unchanged(self, node: Node) -> Node:
        return node

    def _cut_reshape(self, node: Node) -> Node:
        return replace(node, op=Reshape(self.types[node.outputs[0]].shape))

    def _cut_depthwise(self, node: Node) -> Node:
        x, w, b = self._operands(node)
        kept = ~self._dead[node.outputs[0]]
        bias = None if b is None else self._live(b, self.graph.constants[b][kept], kept)
        weights = self._live(w, self.graph.constants[w][..., kept], kept)
        return replace(node, inputs=(x, weights, bias))

    def _cut_mixing(self, node: Node) -> Node:
        """Removes the weight rows of dead results; the columns of dead inputs are added to the bias."""
        x, w, b = self._operands(node)
        rows = ~self._dead.get(node.outputs[0], np.zeros(self._channels(node.outputs[0]), np.bool_))
        columns = ~self._dead.get(x, np.zeros(self._channels(x), np.bool_))
        all_weights = self.graph.constants[w][rows]
        bias = self._with_folded(node, b, all_weights[..., ~columns], rows, columns)
        weights = self._live(w, np.ascontiguousarray(all_weights[..., columns]), rows)
        return replace(node, inputs=(x, weights, bias))

    def _with_folded(self, node: Node, bias: str | None, cut: Array, rows: Mask, columns: Mask) -> str | None:
        """Returns the bias plus the contribution of the removed weights, whose inputs are constant."""
        taps = tuple(range(1, cut.ndim - 1))
        folded = cut.astype(np.int64).sum(axis=taps) @ self._steps(node, columns)
        if bias is not None:
            stored = self.graph.constants[bias][rows].astype(np.int64)
            return self._live(bias, (stored + folded).astype(self.graph.constants[bias].dtype), rows)
        if not folded.any():
            return None
        kind = TensorType(DType.I32, folded.shape)
        return self.constant(f"{node.name}/bias", kind, folded.astype(np.int32))

    def _steps(self, node: Node, columns: Mask) -> Ints:
        """Returns the dead channels' distance from the zero point; weights of those not constant are 0."""
        zero = quant_of(self.graph.types[node.reads[0]]).zero_point
        return self._ranges[node.reads[0]].low[~columns] - zero

    def _operands(self, node: Node) -> tuple[str, str, str | None]:
        return (
            required(node.inputs[0]),
            required(node.inputs[1]),
            node.inputs[2] if len(node.inputs) > 2 else None,
        )

    def _channels(self, name: str) -> int:
        return self.graph.types[name].shape[-1]

    def _live(self, name: str, array: Array, kept: Mask) -> str:
        """Adds a new constant for a cut one, because other nodes may still read the original."""
        old = self.graph.types[name]
        kind = replace(old, shape=array.shape, quant=_cut_quant(old.quant, kept))
        return self.constant(f"{name}/live", kind, array)


def _cut_quant(quant: Quant | None, kept: Mask) -> Quant | None:
    """Returns scales and zero points of the kept channels; constants are quantized along output channels."""
    if quant is None or not quant.is_per_channel:
        return quant
    scales = tuple(s for s, is_kept in zip(quant.scales, kept, strict=True) if is_kept)
    zero_points = tuple(z for z, is_kept in zip(quant.zero_points, kept, strict=True) if is_kept)
    return Quant(scales, zero_points, quant.axis)


_CUTS: dict[type, Callable[[_Cutter, Node], Node]] = {
    Conv2d: _Cutter._cut_mixing,
    Dense: _Cutter._cut_mixing,
    DepthwiseConv2d: _Cutter._cut_depthwise,
    Reshape: _Cutter._cut_reshape,
}
