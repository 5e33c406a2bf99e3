"""One quantised network in two formats: a TFLite file, and an ONNX file with the same weights and scales."""

from dataclasses import dataclass

import numpy as np
from qdq_builder import QdqBuilder
from tflite_builder import ModelBuilder

from aot.ir.types import Array

_SIZE, _CHANNELS, _CLASSES = 12, 8, 5
_IN, _FIRST, _NEXT, _SUM, _LAST = 0.02, 0.05, 0.04, 0.06, 0.1  # scales


@dataclass(frozen=True)
class _Weights:
    integers: Array  # output channels first
    bias: Array
    scales: tuple[float, ...]


def _weights(rng: np.random.Generator, *shape: int) -> _Weights:
    scales = tuple(float(np.float32(s)) for s in rng.uniform(0.002, 0.01, shape[0]))
    bias = rng.integers(-500, 500, shape[0]).astype(np.int32)
    return _Weights(rng.integers(-127, 128, shape).astype(np.int8), bias, scales)


@dataclass(frozen=True)
class _Network:
    """Image, convolution, depthwise one of stride 2, pointwise one, sum of both, pools, classes."""

    first: _Weights
    depthwise: _Weights
    pointwise: _Weights
    dense: _Weights


def network(seed: int = 3) -> _Network:
    rng = np.random.default_rng(seed)
    c = _CHANNELS
    return _Network(
        _weights(rng, c, 3, 3, 3),
        _weights(rng, c, 3, 3, 1),
        _weights(rng, c, 1, 1, c),
        _weights(rng, _CLASSES, 3 * 3 * c),
    )


def tflite_twin(n: _Network) -> bytes:
    build = ModelBuilder("twin")
    x = build.input("image", (1, _SIZE, _SIZE, 3), scale=_IN, zero_point=-3)
    relu = {"zero_point": -128, "activation": "RELU"}
    first = build.conv2d(
        x,
        n.first.integers,
        n.first.bias,
        weight_scales=n.first.scales,
        scale=_FIRST,
        **relu,  # type: ignore[arg-type]
    )
    pooled = build.pool2d("MAX", first, (2, 2))
    filters = np.ascontiguousarray(n.depthwise.integers.transpose(3, 1, 2, 0))
    deep = build.depthwise_conv2d(
        pooled,
        filters,
        n.depthwise.bias,
        weight_scales=n.depthwise.scales,
        scale=_NEXT,
        **relu,  # type: ignore[arg-type]
    )
    point = build.conv2d(
        deep, n.pointwise.integers, n.pointwise.bias, weight_scales=n.pointwise.scales, scale=_NEXT
    )
    total = build.add(pooled, point, scale=_SUM, zero_point=-10, activation="RELU")
    mean = build.pool2d("AVERAGE", total, (2, 2))
    dense = build.fully_connected(
        mean, n.dense.integers, n.dense.bias, weight_scales=n.dense.scales, scale=_LAST, zero_point=7
    )
    return build.finish(build.softmax(dense))


def onnx_twin(n: _Network, channels_first: bool = False) -> bytes:
    """With an input like TFLite's that is transposed first, as converters write it, or with planes."""
    build = QdqBuilder("twin")
    shape = (1, 3, _SIZE, _SIZE) if channels_first else (1, _SIZE, _SIZE, 3)
    x = build.input("image", shape, _IN, -3)
    if not channels_first:
        x = build.node("Transpose", x, perm=[0, 3, 1, 2])
    first = build.quantised(build.node("Relu", _conv(build, x, n.first, _IN, 1)), _FIRST, -128)
    pooled = build.quantised(build.node("MaxPool", first, kernel_shape=[2, 2], strides=[2, 2]), _FIRST, -128)
    deep = _conv(build, pooled, n.depthwise, _FIRST, 1, group=_CHANNELS)
    deep = build.quantised(build.node("Relu", deep), _NEXT, -128)
    point = build.quantised(_conv(build, deep, n.pointwise, _NEXT, 0), _NEXT)
    total = build.quantised(build.node("Relu", build.node("Add", pooled, point)), _SUM, -10)
    mean = build.node("AveragePool", total, kernel_shape=[2, 2], strides=[2, 2])
    mean = build.quantised(mean, _SUM, -10)
    flat = build.node("Flatten", mean)
    classes = build.node("Gemm", flat, *_dense(build, n.dense, _SUM), transB=1)
    return build.finish(
        build.quantised(build.node("Softmax", build.quantised(classes, _LAST, 7)), 1 / 256, -128)
    )


def _conv(build: QdqBuilder, x: str, w: _Weights, scale: float, pad: int, group: int = 1) -> str:
    filters = build.weights(np.ascontiguousarray(w.integers.transpose(0, 3, 1, 2)), w.scales)
    steps = np.array(scale, np.float32) * np.array(w.scales, np.float32)
    return build.node("Conv", x, filters, build.weights(w.bias, steps), pads=[pad] * 4, group=group)  # type: ignore[arg-type]


def _dense(build: QdqBuilder, w: _Weights, scale: float) -> tuple[str, str]:
    """A flattened image has its channels first here, so the weights' columns are in another order."""
    columns = w.integers.reshape(-1, 3, 3, _CHANNELS).transpose(0, 3, 1, 2).reshape(len(w.integers), -1)
    steps = np.array(scale, np.float32) * np.array(w.scales, np.float32)
    return build.weights(np.ascontiguousarray(columns), w.scales), build.weights(w.bias, steps)  # type: ignore[arg-type]
