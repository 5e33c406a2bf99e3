"""Graphs of several nodes, put together by hand: branches, views, several outputs."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from op_case import Weights, int8, int8_weights, int32_bias, wide_weights

from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType, TensorType
from aot.ops.activation import Activation
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.batch_matmul import BatchMatmul
from aot.ops.binary import Add
from aot.ops.concat import Concat
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.gather import Gather
from aot.ops.max_pool2d import MaxPool2d
from aot.ops.mean import Mean
from aot.ops.op import Op
from aot.ops.reshape import Reshape
from aot.ops.resize import Resize
from aot.ops.softmax import Softmax

SAME3 = ((1, 1), (1, 1))


class Draft:
    """A graph in the making; every method gives the name of the value it made."""

    def __init__(self) -> None:
        self.types: dict[str, TensorType] = {}
        self.constants: dict[str, Array] = {}
        self.nodes: list[Node] = []
        self.inputs: list[str] = []

    def input(self, name: str, *shape: int, zero_point: int = 3, scale: float = 0.05) -> str:
        self.types[name] = int8(*shape, zero_point=zero_point, scale=scale)
        self.inputs.append(name)
        return name

    def node(self, name: str, op: Op, *reads: str, quant: TensorType, weights: Sequence[Weights] = ()) -> str:
        constants = {f"{name}.c{i}": w for i, w in enumerate(weights)}
        self.types |= {c: w.type for c, w in constants.items()}
        self.constants |= {c: w.array for c, w in constants.items()}
        operands = (*reads, *constants)
        ((dtype, shape),) = op.infer([self.types[v] for v in operands])
        self.types[name] = TensorType(DType(dtype), shape, quant.quant)
        self.nodes.append(Node(f"node {name}", op, operands, (name,), f'OP "{name}"'))
        return name

    def conv(
        self, name: str, x: str, channels: int, size: int = 3, seed: int = 1, **attributes: object
    ) -> str:
        attributes.setdefault("padding", ((size // 2, size // 2),) * 2)
        w = int8_weights(channels, size, size, self.types[x].shape[3], axis=0, seed=seed)
        op = Conv2d(**attributes)  # type: ignore[arg-type]
        quant = int8(scale=0.04, zero_point=-9)
        return self.node(name, op, x, quant=quant, weights=[w, int32_bias(channels, seed)])

    def depthwise(self, name: str, x: str, **attributes: object) -> str:
        attributes.setdefault("padding", SAME3)
        channels = self.types[x].shape[3]
        w, op = int8_weights(3, 3, channels, axis=2), DepthwiseConv2d(**attributes)  # type: ignore[arg-type]
        return self.node(name, op, x, quant=int8(scale=0.05), weights=[w, int32_bias(channels)])

    def dense(self, name: str, x: str, outputs: int, seed: int = 1) -> str:
        w = int8_weights(outputs, self.types[x].shape[1], seed=seed)
        return self.node(name, Dense(), x, quant=int8(scale=0.1), weights=[w, int32_bias(outputs, seed)])

    def add(self, name: str, x1: str, x2: str, scale: float = 0.07, activation: str = "none") -> str:
        return self.node(name, Add(Activation(activation)), x1, x2, quant=int8(scale=scale, zero_point=5))

    def conv1d(self, name: str, x: str, channels: int, size: int, **attributes: object) -> str:
        """As exporters write it: an image of one row, and back."""
        _, pixels, depth = self.types[x].shape
        w = int8_weights(channels, 1, size, depth, axis=0, seed=len(name))
        read = self.reshape(f"{name}.in", x, 1, 1, pixels, depth)
        op = Conv2d(**attributes)  # type: ignore[arg-type]
        quant = int8(scale=0.04, zero_point=-9)
        made = self.node(f"{name}.made", op, read, quant=quant, weights=[w, int32_bias(channels, size)])
        return self.reshape(name, made, 1, *self.types[made].shape[2:])

    def reshape(self, name: str, x: str, *shape: int) -> str:
        return self.node(name, Reshape(shape), x, quant=self.types[x])

    def pool(self, name: str, x: str, op: AveragePool2d | MaxPool2d) -> str:
        return self.node(name, op, x, quant=self.types[x])

    def softmax(self, name: str, x: str) -> str:
        return self.node(name, Softmax(), x, quant=int8(scale=1 / 256, zero_point=-128))

    def graph(self, *outputs: str) -> Graph:
        return Graph("draft", tuple(self.inputs), outputs, tuple(self.nodes), self.types, self.constants)


def residual() -> Graph:
    """The input is kept over two convolutions of equal shape, twice; rings must wait for it."""
    d = Draft()
    x = d.input("x", 1, 9, 7, 5)
    for block in "ab":
        inner = d.conv(f"{block}1", x, 5, seed=2)
        inner = d.conv(f"{block}2", inner, 5, seed=3)
        x = d.add(f"{block}3", inner, x)
    return d.graph(x)


def layers_alike() -> Graph:
    """Layers that differ in their extents alone: small code has one function for each kind of them."""
    d = Draft()
    x = d.input("x", 1, 16, 16, 6)
    for block, channels in enumerate((8, 12, 10, 16)):
        deep = d.depthwise(f"deep{block}", x, stride=(1 + block % 2, 1 + block % 2))
        x = d.conv(f"point{block}", deep, channels, size=1, seed=block + 1)
    return d.graph(d.conv("c2", d.conv("c1", x, 12, seed=7), 10, seed=8))


def sums_of_convolutions() -> Graph:
    """Sums of what convolutions make: of either operand or both, clamped, for readers of every format."""
    d = Draft()
    x = d.input("x", 1, 7, 9, 3)
    wide = d.add("wide", d.conv("a", x, 7), d.conv("b", x, 7, size=1, seed=2), activation="relu")
    planes = d.add("planes", wide, d.conv("c", wide, 7, seed=3), activation="relu6")
    deep = d.depthwise("deep", planes)
    made = d.add("made", d.conv("d", deep, 7, size=1, seed=4), planes, scale=0.005)
    first = d.conv("first", made, 17, stride=(2, 2))
    second = d.conv("second", made, 17, stride=(2, 3), padding=((1, 1), (2, 2)), seed=6)
    other = d.conv("third", made, 17, stride=(2, 2), dilation=(2, 1), padding=((2, 2), (1, 1)), seed=7)
    return d.graph(made, d.add("thrice", d.add("twice", first, other), first), second)


def long_skip() -> Graph:
    """A branch that shrinks and another that shrinks by pooling, met by an addition at the end."""
    d = Draft()
    x = d.input("x", 1, 12, 10, 4)
    left = d.conv("left", d.depthwise("deep", x), 4, stride=(2, 2))
    right = d.pool("right", x, MaxPool2d((2, 2), (2, 2)))
    return d.graph(d.add("y", left, right))


def two_outputs() -> Graph:
    """One output is read inside as well."""
    d = Draft()
    x = d.input("x", 1, 8, 6, 3)
    first = d.conv("first", x, 4)
    return d.graph(first, d.conv("second", first, 2, size=1))


def two_inputs() -> Graph:
    d = Draft()
    a, b = d.input("a", 1, 5, 5, 4), d.input("b", 1, 5, 5, 4, zero_point=-128, scale=0.2)
    return d.graph(d.add("y", d.conv("c", a, 4), b), d.add("z", a, a))


def output_read_as_image() -> Graph:
    """Outputs are dense: a convolution that reads one needs a copy with padding."""
    d = Draft()
    x = d.depthwise("deep", d.input("x", 1, 6, 6, 8))
    return d.graph(x, d.depthwise("deeper", x), d.conv("conv", x, 3))


def many_formats() -> Graph:
    """One value for readers that want planes, pixels, wide pixels and other padding."""
    d = Draft()
    x = d.conv("x1", d.input("x", 1, 7, 8, 4), 4)
    readers = [
        d.depthwise("planes", x),
        d.conv("pixels", x, 4),
        d.conv("dilated", x, 4, dilation=(2, 2), padding=((2, 2), (2, 2))),
        d.pool("mean", x, AveragePool2d((3, 3), (1, 1), SAME3)),
        d.pool("most", x, MaxPool2d((3, 3), (1, 1), SAME3)),
    ]
    total = x
    for number, reader in enumerate(readers):
        total = d.add(f"sum{number}", total, reader)
    return d.graph(total)


def reshaped_input() -> Graph:
    """The input is an output under another shape, and is read besides."""
    d = Draft()
    x = d.input("x", 1, 4, 6, 2)
    return d.graph(d.reshape("flat", x, 1, 48), d.conv("y", x, 3))


def only_a_reshape() -> Graph:
    d = Draft()
    return d.graph(d.reshape("y", d.input("x", 1, 2, 3, 4), 1, 24))


def reshape_between_rows() -> Graph:
    """Rows of one shape become rows of another, which no row of the first lines up with."""
    d = Draft()
    x = d.conv("before", d.input("x", 1, 6, 4, 3), 5)
    x = d.reshape("turned", x, 1, 5, 8, 3)
    x = d.conv("after", x, 2)
    x = d.reshape("rows", x, 5, 16)
    x = d.dense("dense", x, 3)
    return d.graph(d.reshape("y", d.reshape("flat", x, 15), 3, 5))


def reshaped_twice() -> Graph:
    """A reshape of a reshape; the value in the middle is an output."""
    d = Draft()
    middle = d.reshape("middle", d.conv("c", d.input("x", 1, 4, 4, 2), 3), 1, 48)
    return d.graph(middle, d.dense("y", d.reshape("more", middle, 4, 12), 5))


def alike_but_for_scales() -> Graph:
    """Layers of one shape whose numbers differ must not share what holds the numbers."""
    d = Draft()
    x = d.input("x", 2, 6, scale=0.3)
    a, b = d.add("a", x, x, scale=0.4), d.add("b", x, x, scale=0.05)
    c, e = d.add("c", x, x, scale=0.4, activation="relu"), d.add("e", x, a, scale=0.2)
    f = d.add("f", x, x, scale=0.1)  # a's multipliers, other shifts
    return d.graph(d.softmax("sa", a), d.softmax("sb", b), d.softmax("sc", c), d.softmax("se", e), f)


def rows_or_a_constant() -> Graph:
    """Two layers whose functions read alike, though one is given rows and the other a constant."""
    d = Draft()
    x, y = d.input("x", 1, 1, 5, 3), d.input("y", 1, 1, 5, 3)
    constant = Weights(int8(1, 1, 5, 3), np.arange(15, dtype=np.int8).reshape(1, 1, 5, 3))
    both = d.node("both", Concat(3), x, y, quant=int8(zero_point=3))
    return d.graph(both, d.node("half", Concat(3), x, quant=int8(zero_point=3), weights=[constant]))


def tall() -> Graph:
    """More rows than a byte counts, in layers that take turns."""
    d = Draft()
    x = d.conv("c", d.input("x", 1, 300, 2, 1), 2)
    return d.graph(d.conv("y", x, 1))


def classifier() -> Graph:
    d = Draft()
    x = d.conv("c", d.input("x", 1, 9, 9, 1, zero_point=-128), 6, stride=(2, 2), activation=Activation.RELU)
    x = d.pool("p", d.depthwise("d", x), AveragePool2d((5, 5), (5, 5)))
    return d.graph(d.softmax("y", d.dense("f", d.reshape("r", x, 1, 6), 4)))


def pool_of_rows_before_padding() -> Graph:
    """A result that grows by rows and is read with padding beside it."""
    draft = Draft()
    x = draft.conv("c", draft.input("x", 1, 6, 5, 4), 4)
    pooled = draft.pool("p", x, AveragePool2d((6, 1), (1, 1)))
    return draft.graph(draft.pool("m", pooled, MaxPool2d((1, 3), (1, 1), ((0, 0), (1, 1)))))


def pool_of_rows_before_rows_above() -> Graph:
    """The same with rows above and below it."""
    draft = Draft()
    x = draft.conv("c", draft.input("x", 1, 6, 5, 4), 4)
    return draft.graph(draft.conv("y", draft.pool("p", x, AveragePool2d((6, 1), (1, 1))), 3))


def time_series() -> Graph:
    """Layers along time as exporters write them: strides, dilations, sums, a pool of columns, a mean."""
    d = Draft()
    x = d.conv1d("first", d.input("x", 1, 72, 5), 8, 5, stride=(1, 2), padding=((0, 0), (2, 1)))
    for block, dilation in enumerate((1, 4)):
        around = ((0, 0), (dilation, dilation))
        inner = d.conv1d(f"a{block}", x, 8, 3, dilation=(1, dilation), padding=around)
        x = d.add(f"sum{block}", d.conv1d(f"b{block}", inner, 8, 1), x)
    column = d.reshape("column", x, 1, 36, 1, 8)
    x = d.reshape("halved", d.pool("pool", column, MaxPool2d((2, 1), (2, 1))), 1, 18, 8)
    x = d.conv1d("last", x, 6, 3, padding=((0, 0), (2, 0)))
    image = d.reshape("image", x, 1, 1, 18, 6)
    mean = d.node("mean", Mean((2,)), image, quant=d.types[image])
    return d.graph(d.dense("y", d.reshape("flat", mean, 1, 6), 4))


def line_of_samples() -> Graph:
    """One channel, long windows and strides; depthwise; results that the caller wants pixel by pixel."""
    d = Draft()
    x = d.conv1d("first", d.input("x", 1, 240, 1), 4, 20, stride=(1, 5), padding=((0, 0), (8, 7)))
    image = d.reshape("image", x, 1, 1, 48, 4)
    w = int8_weights(1, 7, 8, axis=2)
    op = DepthwiseConv2d(padding=((0, 0), (3, 3)), multiplier=2)
    deep = d.node("deep", op, image, quant=int8(scale=0.05), weights=[w, int32_bias(8)])
    line = d.reshape("line", deep, 1, 48, 8)
    made = d.conv1d("made", line, 6, 1)
    flat = d.reshape("flat", d.conv1d("valid", line, 3, 9, stride=(1, 2)), 1, 60)
    return d.graph(made, d.dense("y", flat, 4))


def resized() -> Graph:
    """Up by a half and more, between rows that come one by one; joined with what was there before."""
    d = Draft()
    first = d.conv("first", d.input("x", 1, 9, 7, 3), 5)
    small = d.conv("small", first, 5, stride=(2, 2), seed=3)
    op = Resize((9, 7), half_pixels=True)
    both = d.node(
        "both", Concat(3), d.node("up", op, small, quant=d.types[small]), first, quant=d.types[first]
    )
    large = d.node("large", Resize((21, 10), align_corners=True), both, quant=d.types[both])
    return d.graph(d.conv("y", large, 4))


def doubled() -> Graph:
    """Rows, then columns gathered: the nearest pixels of a smaller image, and some in another order."""
    d = Draft()
    small = d.conv("small", d.input("x", 1, 6, 5, 3), 4)
    rows = Weights(TensorType(DType.I32, (12,)), np.repeat(np.arange(6, dtype=np.int32), 2))
    columns = Weights(TensorType(DType.I32, (8,)), np.array([0, 0, 1, 4, 3, 2, 2, 9], np.int32))
    tall = d.node("tall", Gather(1), small, quant=d.types[small], weights=[rows])
    return d.graph(d.conv("y", d.node("wide", Gather(2), tall, quant=d.types[small], weights=[columns]), 4))


def attention() -> Graph:
    """Scores of four heads, a mask for each pair of them and one for all, the softmax, the next product."""
    d = Draft()
    q, k, v = d.input("q", 1, 4, 6, 16), d.input("k", 1, 4, 16, 24), d.input("v", 1, 4, 24, 16)
    mask, lines = d.input("mask", 2, 1, 1, 24, scale=0.3), d.input("lines", 1, 1, 6, 1, scale=0.3)
    scores = d.node("scores", BatchMatmul(), q, k, quant=int8(scale=0.15, zero_point=6))
    masked = d.add("masked", d.reshape("heads", scores, 2, 2, 6, 24), mask, scale=0.2)
    lined = d.add("lined", masked, lines, scale=0.25)
    causal = Weights(int8(1, 1, 6, 24), np.triu(np.full((1, 1, 6, 24), -128, np.int8), 18))
    quant = int8(scale=0.3, zero_point=5)
    soft = d.softmax("soft", d.node("causal", Add(), lined, quant=quant, weights=[causal]))
    pairs = d.reshape("pairs", soft, 1, 4, 6, 24)
    return d.graph(d.node("y", BatchMatmul(), pairs, v, quant=int8(scale=0.03)))


def given_rows_of_views() -> Graph:
    """Rows in no order, out of views: of parts of a tensor's rows, of rows across them, of one row."""
    d = Draft()
    x = d.conv("conv", d.input("x", 1, 6, 4, 3), 4)
    made = []
    for name, shape, picks in (("parts", (12, 2), [1, 0, 5, 11, 3]), ("across", (3, 8), [2, 2, 0])):
        rows = Weights(TensorType(DType.I32, (len(picks),)), np.array(picks, np.int32))
        view = d.reshape(f"{name}.seen", x, 1, *shape, 4)
        made.append(d.node(name, Gather(1), view, quant=d.types[x], weights=[rows]))
    line = d.reshape("line", d.input("short", 1, 7, 1, 2), 1, 14)
    twice = d.reshape("twice", d.node("joined", Concat(1), line, line, quant=d.types[line]), 1, 14, 1, 2)
    return d.graph(*made, d.node("one_piece", Resize((5, 2)), twice, quant=d.types[line]))


def flattened_odd_rows() -> Graph:
    """A dense layer takes rows of 15 elements, by fours."""
    d = Draft()
    image = d.conv("image", d.input("x", 1, 4, 5, 2), 3)
    return d.graph(d.dense("y", d.reshape("flat", image, 1, 60), 4))


def bytes_then_wide() -> Graph:
    """Weights of a byte, then wider ones, whose kernel wants wide rows of the layer before it on any core."""
    d = Draft()
    x = d.conv("bytes", d.input("x", 1, 5, 7, 6), 9, 1)
    wide = [wide_weights(5, 1, 1, 9), int32_bias(5)]
    return d.graph(d.node("wide", Conv2d(), x, quant=int8(scale=0.05), weights=wide))


def names_of_copies() -> Graph:
    """Tensors that are called as copies of others would be."""
    draft = Draft()
    x = draft.input("x", 1, 4, 4, 2)
    first = draft.conv("a", x, 2)
    second = draft.conv("x.pixels8", draft.conv("x.pixels16", first, 2), 2)
    return draft.graph(draft.add("z", draft.conv("x.planes8", x, 2), second))


def name_of_sums() -> Graph:
    """A tensor that is called as the sums of a pool would be."""
    draft = Draft()
    x = draft.conv("c", draft.input("x", 1, 6, 5, 2), 2)
    return draft.graph(draft.conv("p.state", draft.pool("p", x, AveragePool2d((6, 5), (1, 1))), 2, size=1))


def input_passed_through() -> Graph:
    draft = Draft()
    x = draft.input("x", 1, 4, 4, 2)
    return draft.graph(x, draft.conv("x.out", x, 2))


def more_than_255_rows() -> Graph:
    """Row counters need 16 bits."""
    draft = Draft()
    x = draft.input("x", 1, 300, 2, 2)
    for number in range(3):
        x = draft.conv(f"c{number}", x, 2, seed=number)
    return draft.graph(draft.pool("p", x, AveragePool2d((300, 2), (1, 1))))


GRAPHS: Mapping[str, Callable[[], Graph]] = {
    maker.__name__: maker
    for maker in (
        alike_but_for_scales,
        attention,
        bytes_then_wide,
        classifier,
        doubled,
        flattened_odd_rows,
        given_rows_of_views,
        input_passed_through,
        layers_alike,
        line_of_samples,
        long_skip,
        many_formats,
        more_than_255_rows,
        name_of_sums,
        names_of_copies,
        only_a_reshape,
        output_read_as_image,
        pool_of_rows_before_padding,
        pool_of_rows_before_rows_above,
        reshape_between_rows,
        reshaped_input,
        reshaped_twice,
        residual,
        resized,
        rows_or_a_constant,
        sums_of_convolutions,
        tall,
        time_series,
        two_inputs,
        two_outputs,
    )
}
