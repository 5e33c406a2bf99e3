"""Equalizes the ranges of a float model's channels, so that one step size suits them all.

The layer that computes a channel divides by a factor, and the layer that reads it multiplies by it: results
are the same. The first layer's weights have a step per channel, so they lose nothing. The second layer's
weights become less equal, except if each of its input channels has a separate step.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

from aot.frontend.onnx.layer_pairs import LayerPair, LinearLayer, pairs_of
from aot.ir.types import Array

Reals = npt.NDArray[np.float64]
_MAX_CHANNEL_FACTOR = 256.0  # largest ratio of two channels' factors


def with_values_between(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Returns the model with more outputs: the scalable values with a single reader, and their names."""
    model = onnx.load_from_string(data)
    names = tuple(pair.between for pair in pairs_of(model.graph))
    outputs = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in names]
    model.graph.output.extend(outputs)
    return bytes(model.SerializeToString()), names


def with_like_ranges(data: bytes, largest: Mapping[str, Array]) -> bytes:
    """Returns the model with scaled weights. `largest` has the largest magnitude of each channel by value."""
    model = onnx.load_from_string(data)
    constants = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    changed: dict[str, Array] = {}
    for pair in pairs_of(model.graph):
        factors = _factors(pair, largest[pair.between], {**constants, **changed})
        first, second = pair.first, pair.second
        _multiply(changed, constants, first.weights, 1 / factors, 0 if first.channels_first else 1)
        if first.bias:
            _multiply(changed, constants, first.bias, 1 / factors, 0)
        if second.is_depthwise:
            each = np.repeat(factors, constants[second.weights].shape[0] // second.groups)
            _multiply(changed, constants, second.weights, each, 0)
        else:
            _multiply(changed, constants, second.weights, factors, 1 if second.channels_first else 0)
    for constant in model.graph.initializer:
        if constant.name in changed:
            constant.CopyFrom(
                numpy_helper.from_array(changed[constant.name].astype(np.float32), constant.name)
            )
    return bytes(model.SerializeToString())


def _factors(pair: LayerPair, largest: Array, constants: Mapping[str, Array]) -> Reals:
    """Returns the divisor of each channel: its range if that costs nothing, else the root of its share."""
    seen: Reals = largest.astype(np.float64)
    if not pair.second.is_depthwise:
        read: Reals = _reach(pair.second, constants[pair.second.weights])
        seen = np.sqrt(np.divide(seen, read, out=np.zeros_like(seen), where=read > 0))
    top = float(seen.max(initial=0))
    alike: Reals = np.clip(seen / top, 1 / _MAX_CHANNEL_FACTOR, 1.0) if top else np.ones_like(seen)
    return np.where(seen > 0, alike, 1.0)


def _reach(layer: LinearLayer, weights: Array) -> Reals:
    """Returns the largest weight of each input channel."""
    axis = 1 if layer.channels_first else 0
    others = tuple(each for each in range(weights.ndim) if each != axis)
    largest: Reals = np.abs(weights.astype(np.float64)).max(axis=others)
    return largest


def _multiply(
    changed: dict[str, Array], constants: Mapping[str, Array], name: str, factors: Array, axis: int
) -> None:
    before = changed.get(name, constants[name])
    shape = [1] * before.ndim
    shape[axis] = -1
    changed[name] = np.multiply(before, factors.reshape(shape), dtype=np.float64)
