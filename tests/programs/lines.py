"""Networks along time, put together by hand as people train them: motion, keywords, samples, dilated sums."""

from collections.abc import Callable, Mapping

from graphs import Draft
from op_case import int8, int8_weights, int32_bias

from aot.ir.graph import Graph
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.max_pool2d import MaxPool2d
from aot.ops.mean import Mean
from aot.ops.spatial import Padding


def motion() -> Graph:
    """Six activities from nine accelerations."""
    d = Draft()
    x = d.conv1d("wide", d.input("x", 1, 128, 9), 32, 5, padding=_same(5))
    x = _pool(d, "pool", d.conv1d("deep", x, 32, 5, padding=_same(5)), 2)
    return _end(d, d.conv1d("last one", x, 48, 3, padding=_same(3)), 6)


def keywords() -> Graph:
    """A spectrogram's frames as steps, its bands as channels."""
    d = Draft()
    x = d.conv1d("first", d.input("x", 1, 98, 40), 32, 3, padding=_same(3))
    x = d.conv1d("second", x, 48, 9, stride=(1, 2), padding=_same(9))
    return _end(d, d.conv1d("third", x, 48, 9, padding=_same(9)), 12)


def dilated() -> Graph:
    """What has been, further and further back, and what it is added to."""
    d = Draft()
    x = d.conv1d("in", d.input("x", 1, 128, 16), 24, 1)
    for block, dilation in enumerate((1, 2, 4, 8)):
        before = ((0, 0), (2 * dilation, 0))
        inner = d.conv1d(f"a{block}", x, 24, 3, dilation=(1, dilation), padding=before)
        x = d.add(f"sum{block}", d.conv1d(f"b{block}", inner, 24, 1), x)
    return _end(d, x, 5)


def samples() -> Graph:
    """A second of sound as it comes."""
    d = Draft()
    x = d.conv1d("first", d.input("x", 1, 8000, 1), 16, 80, stride=(1, 4), padding=_same(80))
    x = d.conv1d("second", _pool(d, "pool1", x, 4), 16, 3, padding=_same(3))
    return _end(d, d.conv1d("third", _pool(d, "pool2", x, 4), 32, 3, padding=_same(3)), 10)


def separable() -> Graph:
    """Windows of nine steps in each channel, then channels mixed."""
    d = Draft()
    x = d.conv1d("in", d.input("x", 1, 96, 40), 48, 3, stride=(1, 2), padding=_same(3))
    for block in range(4):
        x = d.conv1d(f"mix{block}", _depthwise(d, f"deep{block}", x, 9), 48, 1)
    return _end(d, x, 12)


def _same(size: int) -> Padding:
    return ((0, 0), ((size - 1) // 2, size // 2))


def _pool(d: Draft, name: str, x: str, size: int) -> str:
    _, steps, channels = d.types[x].shape
    column = d.reshape(f"{name} in", x, 1, steps, 1, channels)
    made = d.pool(f"{name} made", column, MaxPool2d((size, 1), (size, 1)))
    return d.reshape(name, made, 1, steps // size, channels)


def _depthwise(d: Draft, name: str, x: str, size: int) -> str:
    _, steps, channels = d.types[x].shape
    image = d.reshape(f"{name} in", x, 1, 1, steps, channels)
    weights = [int8_weights(1, size, channels, axis=2), int32_bias(channels)]
    op = DepthwiseConv2d(padding=_same(size))
    made = d.node(f"{name} made", op, image, quant=int8(scale=0.05), weights=weights)
    return d.reshape(name, made, 1, steps, channels)


def _end(d: Draft, x: str, classes: int) -> Graph:
    _, steps, channels = d.types[x].shape
    image = d.reshape("image", x, 1, 1, steps, channels)
    mean = d.node("mean", Mean((2,)), image, quant=d.types[image])
    return d.graph(d.dense("y", d.reshape("flat", mean, 1, channels), classes))


ALONG_TIME: Mapping[str, Callable[[], Graph]] = {
    maker.__name__: maker for maker in (motion, keywords, dilated, samples, separable)
}
