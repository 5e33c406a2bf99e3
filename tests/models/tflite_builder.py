"""Builds small TFLite models operator by operator: what tests and the bundled model are made with.

    build = ModelBuilder("tiny")
    x = build.input("image", (1, 8, 8, 3), scale=0.5)
    y = build.conv2d(x, weights, bias, weight_scales=scales, scale=0.25, padding="SAME")
    data = build.finish(y)

Tensors are named by strings. Shapes of results are worked out; quantisation is given.
"""

from collections.abc import Sequence

import numpy as np
import tflite

from aot.frontend.tflite.write_file import FileTensor, ModelSpec, OperatorSpec, write_tflite
from aot.ir.types import Array

Pair = tuple[int, int]


class ModelBuilder:
    """Grows a model; finish() writes it. The int8 versions of operators are used throughout."""

    def __init__(self, name: str = "model") -> None:
        self.name = name
        self.tensors: dict[str, FileTensor] = {}
        self.inputs: list[str] = []
        self.operators: list[OperatorSpec] = []

    def input(
        self, name: str, shape: tuple[int, ...], scale: float = 0.05, zero_point: int = 0, dtype: str = "int8"
    ) -> str:
        self.inputs.append(name)
        return self._add(FileTensor(name, shape, dtype, *_quant(dtype, scale, zero_point)))

    def constant(
        self,
        name: str,
        data: Array,
        scales: Sequence[float] = (),
        axis: int = 0,
        zero_points: Sequence[int] = (),
    ) -> str:
        """A constant; without zero_points they are all 0."""
        zeros = tuple(zero_points) or (0,) * len(scales)
        scales = tuple(float(s) for s in scales)
        return self._add(FileTensor(name, data.shape, data.dtype.name, scales, zeros, axis, data))

    def operator(
        self,
        code: str,
        version: int,
        inputs: Sequence[str | None],
        outputs: Sequence[FileTensor],
        options: str = "",
        **fields: float | str | Array,
    ) -> str:
        """Any operator, by its names in TFLite's schema; gives the first output's name."""
        names = [self._add(tensor) for tensor in outputs]
        reads = tuple(-1 if name is None else self._index(name) for name in inputs)
        makes = tuple(self._index(name) for name in names)
        self.operators.append(OperatorSpec(code, version, reads, makes, options, fields))
        return names[0] if names else ""

    def conv2d(
        self,
        x: str,
        weights: Array,  # (output channels, kernel height, kernel width, input channels)
        bias: Array | None,
        *,
        weight_scales: Sequence[float],
        scale: float,
        zero_point: int = 0,
        stride: Pair = (1, 1),
        dilation: Pair = (1, 1),
        padding: str = "SAME",
        activation: str = "NONE",
    ) -> str:
        name = self._fresh("conv2d")
        size = self._window(x, weights.shape[1:3], stride, dilation, padding)
        return self.operator(
            "CONV_2D",
            3,
            (x, *self._weights(name, x, weights, bias, weight_scales, axis=0)),
            [self._result(name, x, (1, *size, weights.shape[0]), scale, zero_point)],
            "Conv2DOptions",
            **_window_fields(stride, padding, activation),
            DilationHFactor=dilation[0],
            DilationWFactor=dilation[1],
        )

    def depthwise_conv2d(
        self,
        x: str,
        weights: Array,  # (1, kernel height, kernel width, input channels * multiplier)
        bias: Array | None,
        *,
        weight_scales: Sequence[float],
        scale: float,
        zero_point: int = 0,
        stride: Pair = (1, 1),
        dilation: Pair = (1, 1),
        padding: str = "SAME",
        activation: str = "NONE",
    ) -> str:
        name = self._fresh("depthwise")
        size = self._window(x, weights.shape[1:3], stride, dilation, padding)
        return self.operator(
            "DEPTHWISE_CONV_2D",
            3,
            (x, *self._weights(name, x, weights, bias, weight_scales, axis=3)),
            [self._result(name, x, (1, *size, weights.shape[3]), scale, zero_point)],
            "DepthwiseConv2DOptions",
            **_window_fields(stride, padding, activation),
            DilationHFactor=dilation[0],
            DilationWFactor=dilation[1],
            DepthMultiplier=weights.shape[3] // self.tensors[x].shape[3],
        )

    def fully_connected(
        self,
        x: str,
        weights: Array,  # (output units, input units)
        bias: Array | None,
        *,
        weight_scales: Sequence[float],
        scale: float,
        zero_point: int = 0,
        activation: str = "NONE",
    ) -> str:
        name = self._fresh("dense")
        rows = self._elements(x) // weights.shape[1]
        return self.operator(
            "FULLY_CONNECTED",
            4,
            (x, *self._weights(name, x, weights, bias, weight_scales, axis=0)),
            [self._result(name, x, (rows, weights.shape[0]), scale, zero_point)],
            "FullyConnectedOptions",
            FusedActivationFunction=_activation(activation),
        )

    def pool2d(
        self,
        kind: str,  # "AVERAGE" or "MAX"
        x: str,
        size: Pair,
        *,
        stride: Pair | None = None,
        padding: str = "VALID",
        activation: str = "NONE",
    ) -> str:
        """Pooling keeps its input's quantisation, as TFLite demands."""
        stride = size if stride is None else stride
        source = self.tensors[x]
        result = self._window(x, size, stride, (1, 1), padding)
        return self.operator(
            f"{kind}_POOL_2D",
            2,
            (x,),
            [self._like(self._fresh(f"{kind.lower()}_pool"), source, (1, *result, source.shape[3]))],
            "Pool2DOptions",
            **_window_fields(stride, padding, activation),
            FilterHeight=size[0],
            FilterWidth=size[1],
        )

    def add(self, a: str, b: str, *, scale: float, zero_point: int = 0, activation: str = "NONE") -> str:
        shape = np.broadcast_shapes(self.tensors[a].shape, self.tensors[b].shape)
        return self.operator(
            "ADD",
            2,
            (a, b),
            [self._result(self._fresh("add"), a, shape, scale, zero_point)],
            "AddOptions",
            FusedActivationFunction=_activation(activation),
        )

    def reshape(self, x: str, shape: tuple[int, ...]) -> str:
        name = self._fresh("reshape")
        wanted = self.constant(f"{name}/shape", np.array(shape, np.int32))
        outputs = [self._like(name, self.tensors[x], shape)]
        return self.operator("RESHAPE", 1, (x, wanted), outputs, "ReshapeOptions")

    def softmax(self, x: str, beta: float = 1.0, name: str = "") -> str:
        """Softmax; int8 results always have scale 1/256 and zero point -128."""
        result = self._result(name or self._fresh("softmax"), x, self.tensors[x].shape, 1 / 256, -128)
        return self.operator("SOFTMAX", 2, (x,), [result], "SoftmaxOptions", Beta=beta)

    def spec(self, *outputs: str, called: Sequence[ModelSpec] = ()) -> ModelSpec:
        """The model as plain data; what finish() writes. `called` are its further subgraphs."""
        return ModelSpec(
            self.name,
            tuple(self.tensors.values()),
            tuple(self.operators),
            tuple(self._index(name) for name in self.inputs),
            tuple(self._index(name) for name in outputs),
            tuple(called),
        )

    def finish(self, *outputs: str, called: Sequence[ModelSpec] = ()) -> bytes:
        return write_tflite(self.spec(*outputs, called=called))

    def _add(self, tensor: FileTensor) -> str:
        assert tensor.name not in self.tensors, f"{tensor.name} is there twice"
        self.tensors[tensor.name] = tensor
        return tensor.name

    def _index(self, name: str) -> int:
        return list(self.tensors).index(name)

    def _fresh(self, stem: str) -> str:
        return f"{stem}_{len(self.operators)}"

    def _elements(self, name: str) -> int:
        return int(np.prod(self.tensors[name].shape))

    def _result(self, name: str, x: str, shape: tuple[int, ...], scale: float, zero_point: int) -> FileTensor:
        dtype = self.tensors[x].dtype
        return FileTensor(name, shape, dtype, *_quant(dtype, scale, zero_point))

    def _like(self, name: str, source: FileTensor, shape: tuple[int, ...]) -> FileTensor:
        return FileTensor(name, shape, source.dtype, source.scales, source.zero_points)

    def _window(self, x: str, kernel: Pair, stride: Pair, dilation: Pair, padding: str) -> Pair:
        height, width = (
            window_size(n, k, s, d, padding)
            for n, k, s, d in zip(self.tensors[x].shape[1:3], kernel, stride, dilation, strict=True)
        )
        return height, width

    def _weights(
        self,
        name: str,
        x: str,
        weights: Array,
        bias: Array | None,
        weight_scales: Sequence[float],
        axis: int,
    ) -> tuple[str, str | None]:
        """Constants for weights and bias; the bias has scale input * weights, as TFLite demands."""
        w = self.constant(f"{name}/weights", weights, weight_scales, axis)
        if bias is None:
            return w, None
        scales = [s * t for s in self.tensors[x].scales for t in weight_scales]
        return w, self.constant(f"{name}/bias", bias, scales)


def window_size(size: int, kernel: int, stride: int, dilation: int, padding: str) -> int:
    """Positions of a window along one axis, by TFLite's rules for SAME and VALID."""
    reach = (kernel - 1) * dilation + 1
    return -(-size // stride) if padding == "SAME" else -(-(size - reach + 1) // stride)


def _quant(dtype: str, scale: float, zero_point: int) -> tuple[tuple[float, ...], tuple[int, ...]]:
    return ((), ()) if dtype == "float32" or not scale else ((scale,), (zero_point,))


def _activation(name: str) -> int:
    return int(getattr(tflite.ActivationFunctionType, name))


def _window_fields(stride: Pair, padding: str, activation: str) -> dict[str, float]:
    return {
        "Padding": getattr(tflite.Padding, padding),
        "StrideH": stride[0],
        "StrideW": stride[1],
        "FusedActivationFunction": _activation(activation),
    }
