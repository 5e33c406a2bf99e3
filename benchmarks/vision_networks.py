"""Published networks for pictures, by their shapes. Weights are chance: an arena depends on shapes alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from aot.frontend.tflite.write_file import FileTensor, ModelSpec, OperatorSpec, write_tflite
from aot.ir.types import Array

Shape = tuple[int, ...]
_SAME, _NONE, _RELU6 = 0, 0, 3  # Padding, ActivationFunctionType
_SCALE, _ZERO_POINT = 0.05, -3


@dataclass(frozen=True, slots=True)
class Block:
    """An inverted bottleneck: 1x1 to `inner` channels, depthwise, 1x1; a sum where shapes are kept.

    Without a first 1x1 convolution where `inner` is the number of channels that come in.
    """

    inner: int
    outputs: int
    stride: int = 1
    kernel: int = 3


@dataclass(frozen=True, slots=True)
class VisionNetwork:
    """A convolution of 3x3 with stride 2, blocks, and behind them what `head` says."""

    name: str
    size: int  # of the picture, in pixels
    first: int  # channels of the first convolution
    blocks: tuple[Block, ...]
    head: tuple[int, ...] = ()  # channels of 1x1 convolutions
    classes: int = 0  # of a dense layer behind a mean of all pixels; 0: neither

    def file(self, is_real: bool = False) -> bytes:
        """An int8 model, or a float one."""
        build = _Builder(self.size, is_real)
        x = build.conv("picture", self.first, 3, 2)
        for block in self.blocks:
            x = build.block(x, block)
        for channels in self.head:
            x = build.conv(x, channels, 1, 1)
        if self.classes:
            x = build.classifier(x, self.classes)
        return build.file(x)


@dataclass
class _Builder:
    """Grows a model."""

    size: int
    is_real: bool
    tensors: list[FileTensor] = field(default_factory=list)
    operators: list[OperatorSpec] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chance = np.random.default_rng(1)
        self.tensors.append(self._data("picture", (1, self.size, self.size, 3)))

    def block(self, x: str, block: Block) -> str:
        channels = self._shape(x)[3]
        y = x if block.inner == channels else self.conv(x, block.inner, 1, 1)
        y = self._window("DEPTHWISE_CONV_2D", y, (1, block.kernel, block.kernel, block.inner), block.stride)
        y = self.conv(y, block.outputs, 1, 1, _NONE)
        if block.stride != 1 or block.outputs != channels:
            return y
        return self._operator("ADD", 2, (x, y), self._shape(y), "AddOptions", FusedActivationFunction=_NONE)

    def conv(self, x: str, channels: int, kernel: int, stride: int, activation: int = _RELU6) -> str:
        return self._window("CONV_2D", x, (channels, kernel, kernel, self._shape(x)[3]), stride, activation)

    def classifier(self, x: str, classes: int) -> str:
        channels = self._shape(x)[3]
        axes = self._constant(np.array([1, 2], np.int32))
        pooled = self._operator("MEAN", 2, (x, axes), (1, channels), "ReducerOptions", KeepDims=0)
        weights = self._weights((classes, channels), 0)
        fields = {"FusedActivationFunction": _NONE}
        return self._operator(
            "FULLY_CONNECTED", 4, (pooled, *weights), (1, classes), "FullyConnectedOptions", **fields
        )

    def file(self, last: str) -> bytes:
        index = self._index(last)
        return write_tflite(ModelSpec("network", tuple(self.tensors), tuple(self.operators), (0,), (index,)))

    def _window(self, code: str, x: str, kernel: Shape, stride: int, activation: int = _RELU6) -> str:
        is_depthwise = code == "DEPTHWISE_CONV_2D"
        axis = 3 if is_depthwise else 0
        _, rows, columns, _ = self._shape(x)
        shape = (1, -(-rows // stride), -(-columns // stride), kernel[axis])
        fields = {
            "StrideH": stride,
            "StrideW": stride,
            "DilationHFactor": 1,
            "DilationWFactor": 1,
            "Padding": _SAME,
            "FusedActivationFunction": activation,
        }
        if is_depthwise:
            fields["DepthMultiplier"] = 1
        options = "DepthwiseConv2DOptions" if is_depthwise else "Conv2DOptions"
        return self._operator(code, 3, (x, *self._weights(kernel, axis)), shape, options, **fields)

    def _weights(self, shape: Shape, axis: int) -> tuple[str, str]:
        channels, terms = shape[axis], int(np.prod(shape)) // shape[axis]
        if self.is_real:
            floats = self.chance.normal(0, terms**-0.5, shape).astype(np.float32)
            return self._constant(floats), self._constant(np.zeros(channels, np.float32))
        scales = tuple(
            float(s) for s in (self.chance.uniform(0.5, 1.5, channels) / 127 / terms**0.5).astype(np.float32)
        )
        sums = tuple(float(np.float32(scale * _SCALE)) for scale in scales)
        weights = self.chance.integers(-127, 128, shape).astype(np.int8)
        bias = self.chance.integers(-500, 500, channels).astype(np.int32)
        return self._constant(weights, scales, axis), self._constant(bias, sums)

    def _constant(self, data: Array, scales: Sequence[float] = (), axis: int = 0) -> str:
        name, zeros = f"c{len(self.tensors)}", (0,) * len(scales)
        self.tensors.append(FileTensor(name, data.shape, data.dtype.name, tuple(scales), zeros, axis, data))
        return name

    def _operator(
        self, code: str, version: int, reads: tuple[str, ...], shape: Shape, options: str, **fields: int
    ) -> str:
        made = self._data(f"y{len(self.operators)}", shape)
        self.tensors.append(made)
        places = tuple(self._index(name) for name in reads)
        spec = OperatorSpec(code, version, places, (len(self.tensors) - 1,), options, fields)
        self.operators.append(spec)
        return made.name

    def _data(self, name: str, shape: Shape) -> FileTensor:
        if self.is_real:
            return FileTensor(name, shape, "float32")
        return FileTensor(name, shape, "int8", (_SCALE,), (_ZERO_POINT,))

    def _shape(self, name: str) -> Shape:
        return self.tensors[self._index(name)].shape

    def _index(self, name: str) -> int:
        return next(n for n, tensor in enumerate(self.tensors) if tensor.name == name)


def _mobilenet_v2(width: float, size: int) -> VisionNetwork:
    """Channels are multiples of eight, as the published code rounds them; the last layer has 1,280."""
    first = _channels(32, width)
    blocks, channels = [Block(first, _channels(16, width))], _channels(16, width)
    for outputs, count, stride in ((24, 2, 2), (32, 3, 2), (64, 4, 2), (96, 3, 1), (160, 3, 2), (320, 1, 1)):
        for number in range(count):
            blocks.append(Block(6 * channels, _channels(outputs, width), stride if number == 0 else 1))
            channels = _channels(outputs, width)
    return VisionNetwork(
        f"MobileNetV2-{width:g} at {size}",
        size,
        first,
        tuple(blocks),
        (1280,),
        1000,
    )


def _channels(count: int, width: float) -> int:
    """The nearest multiple of eight, but not less than nine tenths."""
    rounded = max(8, int(count * width + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * count * width else rounded


# mcunet's networks: for ImageNet in 320 KB, and for visual wake words at 5 pictures a second.
_MCUNET_320KB = (
    Block(16, 8),
    Block(24, 16, 2, 7), Block(80, 16), Block(80, 16, 1, 7), Block(64, 16, 1, 5),
    Block(80, 24, 2, 5), Block(120, 24, 1, 5), Block(120, 24, 1, 5),
    Block(120, 40, 2), Block(240, 40, 1, 7), Block(160, 40, 1, 5),
    Block(200, 48, 1, 5), Block(240, 48, 1, 7), Block(240, 48),
    Block(288, 96, 2), Block(480, 96, 1, 7), Block(384, 96),
    Block(480, 160, 1, 7),
)  # fmt: skip
_MCUNET_VWW_5FPS = (
    Block(16, 8),
    Block(48, 16, 2), Block(48, 16), Block(48, 16),
    Block(48, 24, 2, 7), Block(144, 24), Block(120, 24, 1, 5),
    Block(144, 40, 2, 7), Block(240, 40, 1, 7),
    Block(240, 48), Block(192, 48),
    Block(240, 96, 2, 5), Block(480, 96), Block(384, 96),
    Block(288, 160, 1, 7),
)  # fmt: skip


def _fomo(size: int) -> VisionNetwork:
    """MobileNetV2-0.35 up to the widening layer of its seventh block, and two layers more."""
    whole = _mobilenet_v2(0.35, size)
    return VisionNetwork(
        f"FOMO at {size}", size, whole.first, whole.blocks[:6], (whole.blocks[6].inner, 32, 2)
    )


MOBILENET_V2_224 = _mobilenet_v2(1.0, 224)
MOBILENET_V2_035_144 = _mobilenet_v2(0.35, 144)
MCUNET_320KB = VisionNetwork("mcunet-320KB at 176", 176, 16, _MCUNET_320KB, (), 1000)
MCUNET_VWW_5FPS = VisionNetwork("mcunet-vww 5fps at 80", 80, 16, _MCUNET_VWW_5FPS, (), 2)
FOMO_96 = _fomo(96)
