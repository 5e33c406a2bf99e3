"""Rounds weights of a float model to four bits, with a step size per output channel.

The values stay floats: an eight-bit quantizer that is given the step sizes writes integers from -8 to 7.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import numpy_helper

from aot.ir.types import Array

_LOW, _HIGH = -8, 7
_SHARES = np.linspace(0.5, 1.0, 26)  # of a channel's largest weight, tried as the end of the range
_MATRIX_OPS = ("Gemm", "MatMul")


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of a linear layer; no other node reads them."""

    name: str
    value: str  # the layer's result
    op: str
    axis: int  # of the output channels
    elements: int
    node: str


def layer_weights(data: bytes) -> tuple[Weights, ...]:
    """Returns the weights of convolutions and matrix products, except depthwise layers, which are small."""
    model = onnx.load_from_string(data)
    constants = {each.name: each for each in model.graph.initializer}
    reads = [name for node in model.graph.node for name in node.input]
    found = []
    for node in model.graph.node:
        name = node.input[1] if len(node.input) > 1 else ""
        axis = _channel_axis(node)
        if axis is None or name not in constants or reads.count(name) > 1:
            continue
        shape = tuple(constants[name].dims)
        if node.op_type in _MATRIX_OPS and len(shape) != 2:
            continue
        found.append(Weights(name, node.output[0], node.op_type, axis, int(np.prod(shape)), node.name))
    return tuple(found)


def _channel_axis(node: onnx.NodeProto) -> int | None:
    """Returns the axis of the weights' output channels; None if the layer's weights are not rounded."""
    numbers = {each.name: each.i for each in node.attribute}
    if node.op_type == "Conv":
        return 0 if numbers.get("group", 1) == 1 else None
    if node.op_type in _MATRIX_OPS:
        return 0 if numbers.get("transB") else 1
    return None


def narrowed(data: bytes, names: Collection[str]) -> tuple[bytes, Mapping[str, Array]]:
    """Returns the model with these weights in four bits, and the step sizes of each channel."""
    model = onnx.load_from_string(data)
    axes = {each.name: each.axis for each in layer_weights(data)}
    steps = {}
    for constant in model.graph.initializer:
        if constant.name in names:
            rounded, steps[constant.name] = in_four_bits(numpy_helper.to_array(constant), axes[constant.name])
            constant.CopyFrom(numpy_helper.from_array(rounded, constant.name))
    return model.SerializeToString(), steps


def in_four_bits(weights: Array, axis: int) -> tuple[Array, Array]:
    """Returns the nearest weights that are -8 to 7 steps, and each channel's step size.

    A channel gets the step size with the least squared error; some of its largest weights may be clamped.
    """
    rows = np.moveaxis(weights.astype(np.float64), axis, 0)
    flat = rows.reshape(rows.shape[0], -1)
    largest = np.abs(flat).max(axis=1)
    tried = np.where(largest > 0, largest, 1.0)[:, None] * _SHARES / _HIGH
    errors = np.stack([np.square(np.subtract(_rounded(flat, each), flat)).sum(axis=1) for each in tried.T])
    steps = np.take_along_axis(tried, errors.argmin(axis=0)[:, None], axis=1)[:, 0].astype(np.float32)
    nearest = np.moveaxis(_rounded(flat, steps).reshape(rows.shape), 0, axis)
    return nearest.astype(np.float32), steps


def _rounded(flat: Array, steps: Array) -> Array:
    each = steps.astype(np.float64)[:, None]
    return np.asarray(np.clip(np.rint(np.divide(flat, each)), _LOW, _HIGH) * each)
