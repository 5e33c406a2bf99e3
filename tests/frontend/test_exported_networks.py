"""Networks as PyTorch exports them: turned at their edges only, layers merged, as ONNX Runtime has them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from onnx_oracle import run_onnx
from qdq_builder import QdqBuilder

from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph
from aot.ops.reshape import Reshape
from aot.passes.pipeline import run_meaning


@dataclass
class Net:
    """A model that grows layer by layer, with random weights."""

    build: QdqBuilder
    rng: np.random.Generator

    def weights(self, *shape: int) -> str:
        scale = 1 / np.sqrt(np.prod(shape[1:]) or 1)
        return self.build.constant((self.rng.standard_normal(shape) * scale).astype(np.float32))

    def node(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        return self.build.node(op_type, *inputs, **attributes)

    def ints(self, *numbers: int) -> str:
        return self.build.constant(np.array(numbers, np.int64))

    def conv(self, x: str, out: int, inp: int, *kernel: int, norm: bool = True, **attributes: Any) -> str:
        """Without bias and with a batch normalisation, or with bias and without."""
        made = self.node(
            "Conv", x, self.weights(out, inp, *kernel), *(() if norm else [self.weights(out)]), **attributes
        )
        return self.norm(made, out) if norm else made

    def norm(self, x: str, channels: int) -> str:
        variance = self.build.constant(self.rng.uniform(0.5, 2, channels).astype(np.float32))
        return self.node("BatchNormalization", x, *(self.weights(channels) for _ in range(3)), variance)

    def classes(self, x: str, features: int) -> str:
        return self.node("Gemm", x, self.weights(5, features), self.weights(5), transB=1)


Make = Callable[[Net], str]


def residual(net: Net) -> str:
    x = net.build.real_input("x", (1, 3, 12, 12))
    a = net.node("Relu", net.conv(x, 8, 3, 3, 3, pads=[1, 1, 1, 1]))
    b = net.conv(net.node("Relu", net.conv(a, 8, 8, 3, 3, pads=[1, 1, 1, 1])), 8, 8, 3, 3, pads=[1, 1, 1, 1])
    c = net.node("Relu", net.node("Add", b, a))
    d = net.conv(net.node("Relu", net.conv(c, 16, 8, 3, 3, pads=[1, 1, 1, 1], strides=[2, 2])), 16, 16, 1, 1)
    e = net.node("Relu", net.node("Add", d, net.conv(c, 16, 8, 1, 1, strides=[2, 2])))
    return net.classes(net.node("Flatten", net.node("GlobalAveragePool", e)), 16)


def inverted_bottleneck(net: Net) -> str:
    x = net.build.real_input("x", (1, 4, 10, 10))
    limits = [net.build.constant(np.float32(v)) for v in (0, 6)]
    wide = net.node("Clip", net.conv(x, 12, 4, 1, 1), *limits)
    deep = net.node("Clip", net.conv(wide, 12, 1, 3, 3, pads=[1, 1, 1, 1], group=12), *limits)
    out = net.node("Add", x, net.conv(deep, 4, 12, 1, 1))
    mean = net.node("ReduceMean", out, net.ints(2, 3), keepdims=0)
    return net.classes(mean, 4)


def squeezed(net: Net) -> str:
    """MobileNetV3: squeeze and excite, hard swish."""
    x = net.build.real_input("x", (1, 4, 9, 9))
    a = net.node("HardSwish", net.conv(x, 8, 4, 3, 3, strides=[2, 2]))
    s = net.node("GlobalAveragePool", a)
    s = net.node("Relu", net.conv(s, 2, 8, 1, 1, norm=False))
    gate = net.node("HardSigmoid", net.conv(s, 8, 2, 1, 1, norm=False), alpha=1 / 6, beta=0.5)
    b = net.conv(net.node("Mul", a, gate), 6, 8, 1, 1)
    pooled = net.node("AveragePool", b, kernel_shape=[2, 2], strides=[2, 2])
    return net.classes(net.node("Reshape", pooled, net.ints(1, -1)), 24)


def sound(net: Net) -> str:
    x = net.build.real_input("x", (1, 1, 160))
    a = net.node("Relu", net.conv(x, 8, 1, 16, strides=[4]))
    a = net.node("MaxPool", a, kernel_shape=[2], strides=[2])
    a = net.node("Relu", net.conv(a, 8, 1, 3, group=8, pads=[1, 1]))
    a = net.node("Relu", net.conv(a, 12, 8, 3, dilations=[2]))
    mean = net.node("GlobalAveragePool", a)
    return net.classes(net.node("Squeeze", mean, net.ints(2)), 12)


def unsqueezed(net: Net) -> str:
    """A line that becomes an image and a line again in between."""
    x = net.build.real_input("x", (1, 6, 20))
    a = net.node("Relu", net.conv(x, 8, 6, 3))
    image = net.node("Relu", net.conv(net.node("Unsqueeze", a, net.ints(2)), 4, 8, 1, 3))
    line = net.node("Relu", net.conv(net.node("Squeeze", image, net.ints(2)), 6, 4, 3))
    return net.classes(net.node("Flatten", line), 6 * 14)


def shuffled(net: Net) -> str:
    """ShuffleNet: convolutions in groups, and channels dealt out anew."""
    x = net.build.real_input("x", (1, 4, 6, 6))
    a = net.node("Relu", net.conv(x, 8, 2, 1, 1, group=2))
    parts = net.node("Reshape", a, net.ints(1, 2, 4, 6, 6))
    dealt = net.node("Reshape", net.node("Transpose", parts, perm=[0, 2, 1, 3, 4]), net.ints(1, 8, 6, 6))
    b = net.conv(dealt, 4, 4, 1, 1, group=2)
    return net.node("Softmax", net.node("Flatten", net.node("GlobalAveragePool", b)), axis=1)


def enlarged(net: Net) -> str:
    """U-Net: down, up again by nearest and linear pixels, joined with what was there."""
    x = net.build.real_input("x", (1, 3, 8, 8))
    a = net.node("Relu", net.conv(x, 4, 3, 3, 3, pads=[1, 1, 1, 1]))
    b = net.node("Relu", net.conv(net.node("MaxPool", a, kernel_shape=[2, 2], strides=[2, 2]), 6, 4, 1, 1))
    scales = net.build.constant(np.array([1, 1, 2, 2], np.float32))
    near = net.node(
        "Resize",
        b,
        "",
        scales,
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )
    smooth = net.node("Resize", b, "", scales, mode="linear", coordinate_transformation_mode="half_pixel")
    joined = net.node("Concat", a, near, smooth, axis=1)
    c = net.node("Relu", net.conv(joined, 4, 16, 3, 3, pads=[1, 1, 1, 1]))
    w = net.weights(4, 2, 2, 2)
    up = net.node("ConvTranspose", c, w, strides=[2, 2])
    return net.node("Sigmoid", net.conv(up, 1, 2, 1, 1, norm=False))


def attention(net: Net) -> str:
    """One layer of a transformer over frames of a sound."""
    x = net.build.real_input("x", (1, 10, 8))
    q, k, v = (net.node("Add", net.node("MatMul", x, net.weights(8, 8)), net.weights(8)) for _ in range(3))
    heads = [
        net.node("Transpose", net.node("Reshape", y, net.ints(1, 10, 2, 4)), perm=[0, 2, 1, 3])
        for y in (q, k, v)
    ]
    scores = net.node("MatMul", heads[0], net.node("Transpose", heads[1], perm=[0, 1, 3, 2]))
    mixed = net.node("MatMul", net.node("Softmax", scores, axis=-1), heads[2])
    joined = net.node("Reshape", net.node("Transpose", mixed, perm=[0, 2, 1, 3]), net.ints(1, 10, 8))
    y = net.node("Add", x, net.node("MatMul", joined, net.weights(8, 8)))
    y = net.node("LayerNormalization", y, net.weights(8), net.weights(8))
    return net.classes(net.node("ReduceMean", y, net.ints(1), keepdims=0), 8)


def normalised_by_steps(net: Net) -> str:
    """A layer normalisation as exports before operator set 17 have it, between dense layers."""
    x = net.build.real_input("x", (1, 10, 8))
    y = net.node("MatMul", x, net.weights(8, 8))
    centred = net.node("Sub", y, net.node("ReduceMean", y, net.ints(-1)))
    two, epsilon = (net.build.constant(np.float32(number)) for number in (2, 1e-5))
    variance = net.node("ReduceMean", net.node("Pow", centred, two), net.ints(-1))
    y = net.node("Div", centred, net.node("Sqrt", net.node("Add", variance, epsilon)))
    return net.node("MatMul", net.node("Mul", y, net.weights(8)), net.weights(8, 5))


NETWORKS: dict[str, tuple[Make, str]] = {
    "residual": (
        residual,
        "rearrange conv2d conv2d conv2d add conv2d conv2d conv2d add average_pool2d dense",
    ),
    "inverted bottleneck": (
        inverted_bottleneck,
        "rearrange conv2d depthwise_conv2d conv2d add mean dense",
    ),
    "squeeze and excite": (
        squeezed,
        "rearrange conv2d hard_swish average_pool2d conv2d conv2d combine combine mul conv2d average_pool2d "
        "dense",
    ),
    "sound": (sound, "conv2d max_pool2d depthwise_conv2d conv2d mean dense"),
    "unsqueezed": (unsqueezed, "rearrange conv2d conv2d conv2d dense"),
    # Channels of groups are cut out, those of the second from the first's; nothing else moves.
    "shuffled": (
        shuffled,
        "rearrange conv2d rearrange conv2d concat rearrange conv2d rearrange conv2d concat average_pool2d "
        "softmax",
    ),
    # Pixels are repeated, taken between two, and spread apart.
    "enlarged": (
        enlarged,
        "rearrange conv2d max_pool2d conv2d rearrange resize concat conv2d pad rearrange pad "
        "rearrange conv2d conv2d logistic",
    ),
    "attention": (
        attention,
        "dense dense dense rearrange rearrange batch_matmul softmax rearrange batch_matmul rearrange dense "
        "add rearrange sub reduce mul sub mul reduce mul add unary_math div mul add reduce div dense",
    ),
    "normalised by steps": (
        normalised_by_steps,
        "dense reduce mul sub combine reduce mul add unary_math div mul dense",
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_an_exported_network_is_turned_at_its_edges_only(name):
    make, ops = NETWORKS[name]
    net = Net(QdqBuilder(name, opset=18), np.random.default_rng(2))
    data = net.build.finish(make(net))
    graph = run_meaning(read_onnx(data, "net.onnx")).graph
    assert [n.op.name for n in graph.nodes if not isinstance(n.op, Reshape)] == ops.split()
    x = net.rng.standard_normal(graph.types["x"].shape).astype(np.float32)
    (wanted,), made = run_onnx(data, {"x": x}), run_graph(graph, {"x": x})[graph.outputs[0]]
    assert made.shape == wanted.shape
    assert np.abs(made - wanted).max() <= 1e-5 * np.abs(wanted).max()  # type: ignore[operator]
