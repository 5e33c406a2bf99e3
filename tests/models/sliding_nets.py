"""Small networks over a window of rows, each with another way in which rows reach the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from tflite_builder import ModelBuilder

from aot.frontend.load import parse_model
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.types import Array
from aot.passes.pipeline import run_meaning
from aot.passes.sliding.step import slide

_RELU = {"activation": "RELU"}


class Net:
    """A network that grows layer by layer, with weights drawn at random; types follow the input's."""

    def __init__(self, shape: tuple[int, ...], dtype: str = "int8", zero_point: int = 17) -> None:
        self.rng, self.dtype, self.build = np.random.default_rng(5), dtype, ModelBuilder("net")
        self.zero_point = zero_point
        self.x = self.build.input("rows", shape, 0.04, zero_point, dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.build.tensors[self.x].shape

    def conv(self, channels: int, size: tuple[int, int], padding: str = "SAME", **more: object) -> Net:
        weights = self._weights(channels, *size, self.shape[3])
        return self._layer(self.build.conv2d, weights, channels, padding=padding, **more)

    def depthwise(self, size: tuple[int, int], padding: str = "SAME", **more: object) -> Net:
        channels = self.shape[3]
        weights = self._weights(1, *size, channels)
        return self._layer(self.build.depthwise_conv2d, weights, channels, padding=padding, **more)

    def pool(self, kind: str, size: tuple[int, int], **more: object) -> Net:
        self.x = self.build.pool2d(kind, self.x, size, **more)  # type: ignore[arg-type]
        return self

    def mean_pool(self) -> Net:
        return self.pool("AVERAGE", (self.shape[1], self.shape[2]))

    def dense(self, units: int) -> Net:
        weights = self._weights(units, int(np.prod(self.shape)))
        return self._layer(self.build.fully_connected, weights, units)

    def finish(self) -> bytes:
        return self.build.finish(self.x)

    def _layer(self, make: Callable[..., str], weights: Array, channels: int, **more: object) -> Net:
        is_float = self.dtype == "float32"
        bias = self.rng.normal(size=channels) if is_float else self.rng.integers(-900, 900, channels)
        wide = {"float32": np.float32, "int16": np.int64}.get(self.dtype, np.int32)
        scales = [] if is_float else [0.006] * (1 if make == self.build.fully_connected else channels)
        zero = {"int8": -9, "uint8": 119}.get(self.dtype, 0)
        scale = 0.0012 if self.dtype == "int16" else 0.09
        self.x = make(
            self.x, weights, bias.astype(wide), weight_scales=scales, scale=scale, zero_point=zero, **more
        )
        return self

    def _weights(self, *shape: int) -> Array:
        if self.dtype == "float32":
            scaled: Array = self.rng.normal(size=shape) / np.sqrt(np.prod(shape[1:]))
            return scaled.astype(np.float32)
        return self.rng.integers(-127, 128, shape).astype(np.int8)


def spotter() -> bytes:
    """A keyword spotter in small: its window of 49 rows slides by even numbers of rows."""
    net = Net((1, 49, 10, 1)).conv(8, (10, 4), stride=(2, 2), activation="RELU")
    return net.mean_pool().dense(4).finish()


def _branches() -> bytes:
    net = Net((1, 24, 6, 2)).conv(4, (3, 3), **_RELU)
    start = net.x
    short = net.conv(4, (1, 1)).x
    net.x = start
    long = net.conv(4, (7, 3), dilation=(2, 1)).x
    kind = net.build.tensors[long]
    joined = FileTensor("joined", (*kind.shape[:3], 8), kind.dtype, kind.scales, kind.zero_points)
    net.x = net.build.operator("CONCATENATION", 2, (short, long), [joined], "ConcatenationOptions", Axis=3)
    return net.pool("AVERAGE", (3, 2), stride=(1, 2), padding="SAME").mean_pool().dense(4).finish()


def _residual() -> bytes:
    net = Net((1, 22, 5, 3)).conv(6, (3, 3), **_RELU)
    start = net.x
    net.conv(6, (5, 3))
    net.x = net.build.add(start, net.x, scale=0.12, zero_point=5)
    return net.pool("MAX", (2, 2)).dense(3).finish()


def _unsigned() -> bytes:
    """Weights with a zero point, too, as files of uint8 have."""
    net = Net((1, 20, 4, 3), "uint8", 140)
    build, rng = net.build, net.rng
    for number, channels in enumerate((5, 4)):
        weights = rng.integers(0, 256, (channels, 3, 3, net.shape[3])).astype(np.uint8)
        bias = rng.integers(-900, 900, channels).astype(np.int32)
        scale = build.tensors[net.x].scales[0] * 0.006
        inputs = (
            net.x,
            build.constant(f"w{number}", weights, [0.006], zero_points=[121]),
            build.constant(f"b{number}", bias, [scale]),
        )
        result = FileTensor(f"y{number}", (*net.shape[:3], channels), "uint8", (0.09,), (119,))
        fields = {"StrideH": 1, "StrideW": 1, "DilationHFactor": 1, "DilationWFactor": 1}
        net.x = build.operator("CONV_2D", 3, inputs, [result], "Conv2DOptions", **fields)
    return net.mean_pool().finish()


def _spotting(dtype: str) -> bytes:
    net = Net((1, 20, 6, 1), dtype, 0 if dtype in ("int16", "float32") else -40)
    net.conv(8, (4, 3), stride=(2, 2), **_RELU).depthwise((3, 3), **_RELU).conv(8, (1, 1), **_RELU)
    return net.mean_pool().dense(5).finish()


@dataclass(frozen=True)
class SlidingNet:
    """A network and the hops to try."""

    make: Callable[[], bytes]
    hops: tuple[int, ...]

    @cache  # noqa: B019  the table lives as long as the program
    def graph(self) -> Graph:
        """As the importer made it: the reference of a whole window."""
        return parse_model(self.make(), "net.tflite", "tflm")


NETS: Mapping[str, SlidingNet] = {
    "valid": SlidingNet(
        lambda: Net((1, 40, 1, 3)).conv(4, (5, 1), "VALID", **_RELU).conv(8, (5, 1), "VALID")
        .conv(4, (5, 1), "VALID").mean_pool().dense(6).finish(), (8, 5)),
    "valid_in_one_line": SlidingNet(
        lambda: Net((1, 1, 40, 3)).conv(4, (1, 5), "VALID", **_RELU).conv(8, (1, 5), "VALID")
        .mean_pool().dense(6).finish(), (4, 7)),
    "same": SlidingNet(
        lambda: Net((1, 21, 5, 2)).conv(6, (5, 3), **_RELU).depthwise((3, 3)).conv(4, (1, 1), **_RELU)
        .mean_pool().dense(3).finish(), (1, 3)),
    "strided": SlidingNet(
        lambda: Net((1, 31, 7, 1)).conv(4, (5, 3), stride=(2, 2), **_RELU).depthwise((3, 3), stride=(2, 1))
        .conv(8, (3, 3)).mean_pool().dense(3).finish(), (4, 12)),
    "dilated": SlidingNet(
        lambda: Net((1, 30, 4, 2)).conv(4, (3, 3), dilation=(3, 1), **_RELU)
        .depthwise((3, 3), "VALID", dilation=(2, 1)).conv(4, (3, 1), dilation=(4, 1)).mean_pool().dense(3)
        .finish(), (2,)),
    "averages": SlidingNet(
        lambda: Net((1, 26, 6, 2)).conv(4, (3, 3)).pool("AVERAGE", (3, 3), stride=(2, 2), padding="SAME")
        .conv(4, (3, 3), **_RELU).pool("AVERAGE", (2, 2), stride=(1, 1)).dense(4).finish(), (2, 6)),
    "no_interior": SlidingNet(
        lambda: Net((1, 10, 3, 1)).conv(4, (5, 3)).conv(4, (5, 3)).conv(4, (5, 3), **_RELU).mean_pool()
        .dense(2).finish(), (1, 4)),
    "every_row": SlidingNet(lambda: Net((1, 12, 3, 2)).conv(4, (3, 3)).conv(2, (1, 1)).finish(), (2,)),
    "branches": SlidingNet(_branches, (3,)),
    "residual": SlidingNet(_residual, (2, 4)),
    "unsigned": SlidingNet(_unsigned, (2,)),
    "sixteen_bits": SlidingNet(lambda: _spotting("int16"), (2,)),
    "floats": SlidingNet(lambda: _spotting("float32"), (2, 4)),
}  # fmt: skip


def hop_model(graph: Graph, hop: int) -> Graph:
    return slide(run_meaning(graph).graph, hop).graph


def rows_axis(graph: Graph, step: Graph) -> int:
    """The axis along which the window slides, with the shape that the model's first layer sees."""
    assert step.window is not None
    shape = step.types[step.inputs[0]].shape
    return next(axis for axis, size in enumerate(shape) if size == step.window.hop and axis > 0)


def drawn_rows(step: Graph, axis: int, count: int, seed: int = 0) -> Array:
    """Rows of the model's input, not centred: most are above the zero point."""
    kind = step.types[step.inputs[0]]
    shape = tuple(count if its == axis else size for its, size in enumerate(kind.shape))
    rng = np.random.default_rng(seed)
    if not kind.dtype.is_integer:
        return rng.normal(0.7, 2.0, shape).astype(np.float32)
    low, high = kind.dtype.limits
    return rng.integers(low // 3, high, shape, endpoint=True).astype(kind.dtype.numpy)


def hops_of(step: Graph, rows: Array, axis: int) -> list[dict[str, Array]]:
    assert step.window is not None
    return [{step.inputs[0]: each} for each in np.split(rows, rows.shape[axis] // step.window.hop, axis)]


def whole_windows(graph: Graph, step: Graph, rows: Array, axis: int) -> Iterator[dict[str, Array]]:
    """The original model's results for each full window, by its reference."""
    assert step.window is not None
    (name,), length, hop = graph.inputs, step.window.rows, step.window.hop
    for stop in range(step.window.hops * hop, rows.shape[axis] + 1, hop):
        window = np.take(rows, range(stop - length, stop), axis)
        yield run_graph(graph, {name: window.reshape(graph.types[name].shape)})
