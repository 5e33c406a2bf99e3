"""Networks whose outputs show results in other rows than those in which they are made: planes, views."""

from collections.abc import Callable, Mapping

import numpy as np
from graphs import Draft
from joins import joined
from qdq_builder import QdqBuilder

from aot.ir.graph import Graph
from aot.ops.rearrange import Rearrange


def reals_in_planes() -> bytes:
    """An ONNX file: a convolution of floats, 4,096 bytes of output in planes."""
    build = QdqBuilder("reals")
    weights = np.random.default_rng(0).normal(size=(16, 3, 3, 3)).astype(np.float32)
    x = build.real_input("x", (1, 3, 8, 8))
    return build.finish(build.node("Conv", x, build.constant(weights), pads=[1, 1, 1, 1]))


def integers_in_planes() -> bytes:
    """The same size in integers."""
    build = QdqBuilder("integers")
    weights = np.random.default_rng(0).integers(-127, 127, (64, 3, 3, 3)).astype(np.int8)
    x = build.quantised(build.real_input("x", (1, 3, 8, 8)), 0.02)
    made = build.node("Conv", x, build.weights(weights, [0.01]), pads=[1, 1, 1, 1])
    return build.finish(build.quantised(made, 0.3))


def product_in_other_rows() -> bytes:
    """A product of 4,096 bytes that the output shows in eight rows."""
    build = QdqBuilder("product")
    weights = np.random.default_rng(0).normal(size=(16, 1024)).astype(np.float32)
    made = build.node("MatMul", build.real_input("x", (1, 16)), build.constant(weights))
    return build.finish(build.node("Reshape", made, build.constant(np.array([1, 8, 128]))))


def _planes(d: Draft, name: str, image: str) -> str:
    _, rows, width, channels = d.types[image].shape
    shape = (1, channels, rows, width)
    op = Rearrange(shape, shape, (0, 1, width * channels, channels))
    return d.node(name, op, image, quant=d.types[image])


def _picked(d: Draft, image: str, sizes: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> str:
    op = Rearrange(sizes, sizes, strides, offset)
    return d.node("y", op, image, quant=d.types[image])


def _image(d: Draft, rows: int, width: int, channels: int) -> str:
    return d.conv("image", d.input("x", 1, rows, width, 1), channels)


def planes() -> Graph:
    d = Draft()
    return d.graph(_planes(d, "y", _image(d, 6, 8, 12)))


def planes_of_odd_rows() -> Graph:
    """Rows of 21 elements, which begin at no word in a plane."""
    d = Draft()
    return d.graph(_planes(d, "y", _image(d, 5, 7, 3)))


def planes_of_a_vector() -> Graph:
    """As the ONNX importer has it: the image seen as a vector, whose loops are merged, and a view behind."""
    d = Draft()
    flat = d.reshape("flat", _image(d, 5, 7, 6), 1, 210)
    op = Rearrange((1, 210), (6, 35), (1, 6))
    return d.graph(d.reshape("y", d.node("turned", op, flat, quant=d.types[flat]), 1, 6, 5, 7))


def heads_of_several_sequences() -> Graph:
    """Vectors of three sequences by turns; each head of each sequence is a matrix. A part is left out."""
    d = Draft()
    flat = d.reshape("flat", _image(d, 12, 1, 24), 1, 288)
    op = Rearrange((1, 192), (3, 2, 4, 8), (24, 8, 72, 1), 8)
    return d.graph(d.reshape("y", d.node("turned", op, flat, quant=d.types[flat]), 1, 6, 4, 8))


def sequence_by_channels() -> Graph:
    d = Draft()
    made = d.conv1d("made", d.input("x", 1, 12, 3), 17, 3)
    return d.graph(_picked(d, made, (1, 17, 10), (0, 1, 17)))


def every_other_row_backwards() -> Graph:
    d = Draft()
    return d.graph(_picked(d, _image(d, 7, 5, 4), (4, 3, 5), (1, 40, -4), 36))


def planes_and_what_follows() -> Graph:
    """The image has two more readers, of other rows."""
    d = Draft()
    image = _image(d, 6, 8, 4)
    further = d.conv("further", image, 3, seed=4)
    return d.graph(_planes(d, "y", image), d.dense("z", d.reshape("flat", further, 1, 144), 5))


def planes_that_are_read() -> Graph:
    """They are an output, and an image of other rows for what follows."""
    d = Draft()
    y = _planes(d, "y", _image(d, 6, 8, 12))
    return d.graph(y, d.conv("z", y, 2, seed=5))


def heads_in_planes() -> Graph:
    d = Draft()
    image = d.depthwise("deep", d.conv("image", d.input("x", 1, 6, 6, 1), 5))
    heads = [d.conv(name, image, 7, seed=n) for n, name in enumerate(("first", "second"))]
    return d.graph(*(_planes(d, f"{head}/planes", head) for head in heads))


def planes_joined() -> Graph:
    """Planes of two images, one behind the other."""
    d = Draft()
    x = d.input("x", 1, 4, 4, 1)
    parts = [_planes(d, f"{name}/planes", d.conv(name, x, 8, seed=n)) for n, name in enumerate(("a", "b"))]
    return d.graph(joined(d, "y", 1, *parts))


def planes_behind_a_large_input() -> Graph:
    """What is read is four times as large as the planes."""
    d = Draft()
    image = d.conv("image", d.input("x", 1, 16, 16, 8), 8, stride=(2, 2))
    return d.graph(_planes(d, "y", image))


def shown_twice() -> Graph:
    """Two outputs show one value: only the first can be its memory."""
    d = Draft()
    image = _image(d, 4, 3, 6)
    return d.graph(d.reshape("y", image, 1, 72), d.reshape("z", image, 1, 12, 6))


def shown_beside_itself() -> Graph:
    d = Draft()
    image = _image(d, 4, 3, 6)
    return d.graph(image, d.reshape("y", image, 1, 72))


def shown_and_read() -> Graph:
    """What an output shows has readers of two formats."""
    d = Draft()
    image = _image(d, 4, 6, 6)
    return d.graph(d.reshape("y", image, 1, 8, 18), d.conv("z", image, 4), d.depthwise("deep", image))


def input_shown() -> Graph:
    d = Draft()
    x = d.input("x", 1, 4, 6)
    return d.graph(d.reshape("y", x, 1, 24))


SHOWN: Mapping[str, Callable[[], Graph]] = {
    maker.__name__: maker
    for maker in (
        planes,
        planes_of_odd_rows,
        planes_of_a_vector,
        heads_of_several_sequences,
        sequence_by_channels,
        every_other_row_backwards,
        planes_and_what_follows,
        planes_that_are_read,
        heads_in_planes,
        planes_joined,
        planes_behind_a_large_input,
        shown_twice,
        shown_beside_itself,
        shown_and_read,
        input_shown,
    )
}
IN_PLANES = tuple(SHOWN)[:11]
