"""Chains of layers whose shapes the shared models lack: a formula is fitted to what their kernels take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

import numpy as np

from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType, Quant, TensorType
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.op import Op
from aot.ops.reshape import Reshape

Image = tuple[int, int, int]
Layers = tuple[tuple[str, int, int], ...]  # the kind, channels, and the stride

SPREAD: Mapping[str, tuple[Image, Layers]] = {
    "spread_wide": (
        (24, 24, 4),
        (
            *(("3x3", 32, 1), ("3x3", 8, 2), ("3x3", 16, 1), ("1x1", 32, 1), ("deep", 32, 1)),
            *(("3x3", 16, 2), ("deep", 16, 2), ("1x1", 8, 1), ("3x3", 8, 1), ("dense", 10, 1)),
        ),
    ),
    "spread_odd": (
        (17, 17, 6),
        (
            *(("3x3", 12, 1), ("deep", 12, 1), ("1x1", 20, 1), ("5x5", 12, 2), ("deep", 12, 2)),
            *(("1x1", 24, 1), ("3x3", 4, 1), ("3x3", 12, 1), ("dense", 3, 1)),
        ),
    ),
    "spread_narrow": (
        (12, 5, 4),
        (
            *(("1x1", 32, 1), ("deep", 32, 1), ("1x1", 32, 1), ("3x3", 4, 1), ("3x3", 24, 1)),
            *(("3x3", 40, 1), ("deep", 40, 1), ("1x1", 12, 1), ("dense", 12, 1)),
        ),
    ),
    "spread_time": (
        (64, 1, 9),
        (
            *(("5x1", 32, 1), ("3x1", 48, 1), ("1x1", 24, 1), ("9x1", 16, 2), ("3x1", 12, 1)),
            *(("1x1", 40, 1), ("dense", 6, 1)),
        ),
    ),
}


def chain(image: Image, layers: Layers) -> Graph:
    """The layers one after the other, with random weights and the padding that keeps the size."""
    made = _Chain({"x": _int8(1, *image)})
    for number, (kind, channels, stride) in enumerate(layers):
        made.layer(f"{kind}_{number}", kind, channels, stride)
    return Graph("chain", ("x",), (made.value,), tuple(made.nodes), made.types, made.constants)


@dataclass
class _Chain:
    types: dict[str, TensorType]
    value: str = "x"  # the last
    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)
    chance: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))

    def layer(self, name: str, kind: str, channels: int, stride: int) -> None:
        shape = self.types[self.value].shape
        if kind == "dense":
            self._add(f"{name}_flat", Reshape((1, prod(shape))))
            self._add(name, Dense(), self._weights(f"{name}_w", 0, channels, prod(shape)))
            return
        rows, columns = (3, 3) if kind == "deep" else (int(size) for size in kind.split("x"))
        padding = (rows // 2, rows // 2), (columns // 2, columns // 2)
        strides = stride, stride if shape[2] > 1 else 1
        if kind == "deep":
            weights = self._weights(f"{name}_w", 2, rows, columns, shape[3])
            self._add(name, DepthwiseConv2d(strides, padding=padding), weights)
        else:
            weights = self._weights(f"{name}_w", 0, channels, rows, columns, shape[3])
            self._add(name, Conv2d(strides, padding=padding), weights)

    def _weights(self, name: str, axis: int, *shape: int) -> tuple[str, str]:
        """Adds weights with a scale for each channel, and a bias; their sums have a spread of about one."""
        channels = shape[axis]
        reach = 0.05 * 74 * 73 * (prod(shape) / channels) ** 0.5
        scales = tuple(float(np.float32(each)) for each in self.chance.uniform(0.7, 1.4, channels) / reach)
        self.types[name] = TensorType(DType.I8, shape, Quant(scales, (0,) * channels, axis))
        self.constants[name] = self.chance.integers(-127, 128, shape).astype(np.int8)
        bias = f"{name}_bias"
        self.types[bias] = TensorType(DType.I32, (channels,))
        self.constants[bias] = self.chance.integers(-5000, 5001, channels).astype(np.int32)
        return name, bias

    def _add(self, name: str, op: Op, weights: tuple[str, ...] = ()) -> None:
        operands = self.value, *weights
        ((dtype, shape),) = op.infer([self.types[each] for each in operands])
        self.types[name] = TensorType(DType(dtype), shape, _int8().quant)
        self.nodes.append(Node(name, op, operands, (name,), name))
        self.value = name


def _int8(*shape: int) -> TensorType:
    return TensorType(DType.I8, shape, Quant((float(np.float32(0.05)),), (3,)))
