"""Quantised ONNX models become integer ops: their TFLite twins', within a step of ONNX Runtime."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from onnx_oracle import run_onnx
from qdq_builder import QdqBuilder
from twins import network, onnx_twin, tflite_twin

from aot.frontend.onnx.read import read_onnx
from aot.frontend.tflite.read import read_tflite
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.types import Array, DType, TensorType
from aot.ops.op import Op
from aot.ops.reshape import Reshape
from aot.passes.pipeline import run_meaning

Layer = tuple[Op, tuple[TensorType, ...], tuple[bytes, ...]]


def layers(graph: Graph) -> list[Layer]:
    """What computes, without names: ops, types of results, constants' bytes; views left out."""
    return [
        (
            node.op,
            graph.output_types(node),
            tuple(graph.constants[v].tobytes() for v in node.reads if v in graph.constants),
        )
        for node in graph.nodes
        if not isinstance(node.op, Reshape)
    ]


@pytest.mark.parametrize("mode", ["tflm", "litert-ref"])
def test_a_model_and_its_twin_of_the_other_format_are_the_same_layers(mode):
    tflite = run_meaning(read_tflite(tflite_twin(network()), "twin.tflite", mode)).graph
    onnx = run_meaning(read_onnx(onnx_twin(network()), "twin.onnx", mode)).graph
    assert layers(onnx) == layers(tflite)


def test_a_twin_with_planes_differs_by_one_rearrangement_at_its_edge():
    tflite = run_meaning(read_tflite(tflite_twin(network()), "twin.tflite")).graph
    onnx = run_meaning(read_onnx(onnx_twin(network(), channels_first=True), "twin.onnx")).graph
    assert layers(onnx)[0][0].name == "rearrange"
    assert layers(onnx)[1:] == layers(tflite)


Build = Callable[[QdqBuilder, np.random.Generator], str]
IMAGE = (1, 4, 6, 7)
STEP = 1 / 32


@dataclass(frozen=True)
class Pattern:
    """A few nodes around quantised values; the ops that must come of them, and how far results may be."""

    build: Build
    ops: tuple[str, ...]
    steps: int = 1  # from ONNX Runtime's; sums are rounded twice there or here


def image(build: QdqBuilder, name: str = "x", zero_point: int = 3, dtype: str = "int8") -> str:
    return build.input(name, IMAGE, STEP, zero_point, dtype)


def filters(
    build: QdqBuilder, rng: np.random.Generator, *shape: int, dtype: str = "int8", zero_points: bool = False
) -> tuple[str, str]:
    """Weights with a scale for each filter, and a bias in their steps."""
    info = np.iinfo(dtype)
    integers = rng.integers(info.min, info.max, shape, endpoint=True).astype(dtype)
    scales = rng.uniform(0.001, 0.004, shape[0]).astype(np.float32)
    zeros = rng.integers(100, 156, shape[0]).astype(dtype) if zero_points else None
    bias = rng.integers(-900, 900, shape[0]).astype(np.int32)
    weights = build.weights(integers, scales.tolist(), zero_points=zeros)
    return weights, build.weights(bias, (scales * np.float32(STEP)).tolist())


def conv(*after: str, dtype: str = "int8", zero_points: bool = False, **attributes: Any) -> Build:
    def make(build: QdqBuilder, rng: np.random.Generator) -> str:
        signed = dtype == "int8"
        x = image(build, zero_point=-9 if signed else 120, dtype=dtype)
        groups = attributes.get("group", 1)
        w, b = filters(build, rng, 8, 1 if groups == 4 else 4, 3, 3, dtype=dtype, zero_points=zero_points)
        y = build.node("Conv", x, w, b, pads=[1, 1, 1, 1], **attributes)
        for op_type in after:
            y = build.node(op_type, y)
        return build.quantised(y, 1 / 50, -20 if signed else 110, dtype)

    return make


def clipped_conv(low: float, high: float) -> Build:
    def make(build: QdqBuilder, rng: np.random.Generator) -> str:
        y = build.node("Conv", image(build), filters(build, rng, 3, 4, 1, 1)[0])
        limits = [build.constant(np.float32(v)) for v in (low, high)]
        return build.quantised(build.node("Clip", y, *limits), 1 / 40, -60)

    return make


def line_conv(build: QdqBuilder, rng: np.random.Generator) -> str:
    x = build.input("x", (1, 4, 40), STEP, 5)
    w, b = filters(build, rng, 6, 4, 5)
    return build.quantised(build.node("Conv", x, w, b, strides=[2]), 1 / 30)


def gemm(build: QdqBuilder, rng: np.random.Generator) -> str:
    x = build.input("x", (1, 24), STEP, -4)
    w, b = filters(build, rng, 10, 24)
    return build.quantised(build.node("Gemm", x, w, b, transB=1), 1 / 30, 6)


def flattened(build: QdqBuilder, rng: np.random.Generator) -> str:
    x = build.quantised(build.node("MaxPool", image(build), kernel_shape=[2, 2], strides=[2, 2]), STEP, 3)
    w, b = filters(build, rng, 5, 36)
    return build.quantised(build.node("Gemm", build.node("Flatten", x), w, b, transB=1), 1 / 30)


def matmul(build: QdqBuilder, rng: np.random.Generator) -> str:
    x = build.input("x", (1, 7, 24), STEP, -4)
    w = rng.integers(-128, 128, (24, 9)).astype(np.int8)
    return build.quantised(build.node("MatMul", x, build.weights(w, [0.003])), 1 / 30, 6)


def attention(build: QdqBuilder, rng: np.random.Generator) -> str:
    q, k = (build.input(name, (1, 2, 5, 8), STEP, zero) for name, zero in (("q", 3), ("k", -7)))
    turned = build.node("Transpose", k, perm=[0, 1, 3, 2])
    return build.quantised(build.node("MatMul", q, turned), 0.5, 2)


def pair(op_type: str, *after: str) -> Build:
    def make(build: QdqBuilder, rng: np.random.Generator) -> str:
        y = build.node(op_type, image(build), build.input("z", IMAGE, 1 / 20, -8))
        for step in after:
            y = build.node(step, y)
        return build.quantised(y, 1 / 15, 4)

    return make


def with_constant(build: QdqBuilder, rng: np.random.Generator) -> str:
    numbers = rng.integers(-128, 128, (4, 1, 1)).astype(np.int8)
    return build.quantised(build.node("Add", image(build), build.weights(numbers, [0.02])), 1 / 20)


def normalised(build: QdqBuilder, rng: np.random.Generator) -> str:
    """A batch normalisation that is not part of a convolution."""
    parts = [build.constant(rng.uniform(0.5, 2, 4).astype(np.float32)) for _ in range(4)]
    pooled = build.quantised(build.node("MaxPool", image(build), kernel_shape=[2, 2]), STEP, 3)
    y = build.node("BatchNormalization", pooled, *parts)
    return build.quantised(build.node("Relu", y), 1 / 30, -128)


def biased(build: QdqBuilder, rng: np.random.Generator) -> str:
    """A float bias behind a layer's integers."""
    x = build.input("x", (1, 24), STEP, -4)
    y = build.quantised(build.node("MatMul", x, build.weights(filters_of(rng, 24, 9), [0.003])), 1 / 30, 6)
    summands = build.constant(rng.standard_normal(9).astype(np.float32))
    return build.quantised(build.node("Add", y, summands), 1 / 25, 3)


def filters_of(rng: np.random.Generator, *shape: int) -> Array:
    return rng.integers(-128, 128, shape).astype(np.int8)


def excited(build: QdqBuilder, rng: np.random.Generator) -> str:
    """Squeeze and excite: a mean for each channel, a gate, a product."""
    x = image(build)
    mean = build.quantised(build.node("GlobalAveragePool", x), 1 / 60, 1)
    squeezed = build.node("Conv", mean, filters(build, rng, 4, 4, 1, 1)[0])
    gate = build.quantised(build.node("Sigmoid", build.quantised(squeezed, 1 / 30)), 1 / 256, -128)
    return build.quantised(build.node("Mul", x, gate), 1 / 40)


def one(op_type: str, *, scale: float = 1 / 40, zero_point: int = 5, **attributes: Any) -> Build:
    def make(build: QdqBuilder, rng: np.random.Generator) -> str:
        return build.quantised(build.node(op_type, image(build), **attributes), scale, zero_point)

    return make


def silu(build: QdqBuilder, rng: np.random.Generator) -> str:
    x = image(build)
    return build.quantised(build.node("Mul", x, build.node("Sigmoid", x)), 1 / 40)


def concatenated(build: QdqBuilder, rng: np.random.Generator) -> str:
    parts = image(build), build.input("z", IMAGE, 1 / 20, -8)
    return build.quantised(build.node("Concat", *parts, axis=1), 1 / 25, 4)


def padded(build: QdqBuilder, rng: np.random.Generator) -> str:
    pads = build.constant(np.array([0, 0, 1, 2, 0, 0, 0, 1], np.int64))
    return build.quantised(build.node("Pad", image(build), pads), STEP, 3)


def moved(build: QdqBuilder, rng: np.random.Generator) -> str:
    y = build.node("Transpose", image(build), perm=[0, 2, 3, 1])
    first, last, axes = (build.constant(np.array([v], np.int64)) for v in (1, 5, 1))
    y = build.node("Slice", y, first, last, axes)
    return build.quantised(build.node("Reshape", y, build.constant(np.array([1, -1], np.int64))), STEP, 3)


def averaged(size: int, scale: float, **attributes: Any) -> Build:
    def make(build: QdqBuilder, rng: np.random.Generator) -> str:
        y = build.node("AveragePool", image(build), kernel_shape=[size, size], **attributes)
        return build.quantised(y, scale, 3)

    return make


def reduced(build: QdqBuilder, rng: np.random.Generator) -> str:
    axes = build.constant(np.array([2, 3], np.int64))
    return build.quantised(build.node("ReduceMean", image(build), axes, keepdims=0), 1 / 60, 3)


def enlarged(mode: str, *scales: float) -> Build:
    """Between the pixels of an image that a layer has made."""

    def make(build: QdqBuilder, rng: np.random.Generator) -> str:
        made, size = conv()(build, rng), build.constant(np.array([1, 1, *scales], np.float32))
        wide = build.node("Resize", made, "", size, mode="linear", coordinate_transformation_mode=mode)
        return build.quantised(wide, 1 / 50, -20)

    return make


def words(build: QdqBuilder, rng: np.random.Generator) -> str:
    x = build.input("x", (1, 9, 16), 1 / 50, 4)
    return build.quantised(
        build.node("ReduceMean", x, build.constant(np.array([1], np.int64)), keepdims=0), 1 / 90, 3
    )


def wide(build: QdqBuilder, rng: np.random.Generator) -> str:
    x = build.input("x", IMAGE, 1 / 4096, 0, "int16")
    integers = rng.integers(-127, 128, (8, 4, 3, 3)).astype(np.int8)
    return build.quantised(build.node("Conv", x, build.weights(integers, [0.003])), 1 / 2048, 0, "int16")


def wide_gemm(build: QdqBuilder, rng: np.random.Generator) -> str:
    x = build.input("x", (1, 24), 1 / 4096, 0, "int16")
    integers = rng.integers(-127, 128, (10, 24)).astype(np.int8)
    made = build.node("Gemm", x, build.weights(integers, [0.003]), transB=1)
    return build.quantised(made, 1 / 2048, 0, "int16")


def qlinear(op_type: str, domain: str = "com.microsoft", **attributes: Any) -> Build:
    """An operator with one operand, in ONNX Runtime's form."""

    def make(build: QdqBuilder, rng: np.random.Generator) -> str:
        operands = [build.integers[image(build)][0]]
        for scale, zero in ((STEP, 3), (1 / 256, -128)):
            operands += [build.constant(np.float32(scale)), build.constant(np.int8(zero))]
        made = build.node(op_type, *operands, domain=domain, **attributes)
        build.integers[made] = made, 3
        return made

    return make


def qlinear_add(build: QdqBuilder, rng: np.random.Generator) -> str:
    operands = []
    for name, scale, zero in (("x", STEP, 3), ("z", 1 / 20, -8)):
        real = build.input(name, IMAGE, scale, zero)
        operands += [
            build.integers[real][0],
            build.constant(np.float32(scale)),
            build.constant(np.int8(zero)),
        ]
    operands += [build.constant(np.float32(1 / 15)), build.constant(np.int8(4))]
    made = build.node("QLinearAdd", *operands, domain="com.microsoft")
    build.integers[made] = made, 3
    return made


def qlinear_conv(build: QdqBuilder, rng: np.random.Generator) -> str:
    integers = rng.integers(-127, 128, (8, 4, 3, 3)).astype(np.int8)
    scales = rng.uniform(0.001, 0.004, 8).astype(np.float32)
    operands = [build.integers[image(build)][0], build.constant(np.float32(STEP)), build.constant(np.int8(3))]
    operands += [build.constant(a) for a in (integers, scales, np.zeros(8, np.int8))]
    operands += [build.constant(np.float32(1 / 50)), build.constant(np.int8(-5))]
    operands.append(build.constant(rng.integers(-900, 900, 8).astype(np.int32)))
    made = build.node("QLinearConv", *operands, pads=[1, 1, 1, 1])
    pooled = build.node("MaxPool", made, kernel_shape=[2, 2])
    build.integers[pooled] = pooled, 3
    return pooled


PATTERNS = {
    "conv": Pattern(conv(), ("rearrange", "conv2d", "rearrange")),
    "conv and relu": Pattern(conv("Relu"), ("rearrange", "conv2d", "rearrange")),
    "conv of strides": Pattern(conv(strides=[2, 2]), ("rearrange", "conv2d", "rearrange")),
    "conv of dilations": Pattern(conv(dilations=[2, 2]), ("rearrange", "conv2d", "rearrange")),
    "depthwise": Pattern(conv(group=4), ("rearrange", "depthwise_conv2d", "rearrange")),
    "conv of uint8": Pattern(
        conv(dtype="uint8", zero_points=True),
        ("quantize", "rearrange", "conv2d", "rearrange", "quantize"),
    ),
    "conv and relu6": Pattern(clipped_conv(0, 6), ("rearrange", "conv2d", "rearrange")),
    "conv in other limits": Pattern(clipped_conv(-0.5, 1.3), ("rearrange", "conv2d", "lookup", "rearrange")),
    "conv of a line": Pattern(line_conv, ("rearrange", "conv2d", "rearrange")),
    "gemm": Pattern(gemm, ("dense",)),
    "flattened planes": Pattern(flattened, ("rearrange", "max_pool2d", "dense")),
    "matmul": Pattern(matmul, ("dense",)),
    "matmul of two": Pattern(attention, ("batch_matmul",)),
    "add": Pattern(pair("Add"), ("add",)),
    "add and relu": Pattern(pair("Add", "Relu"), ("add",)),
    "sub": Pattern(pair("Sub"), ("sub",)),
    "mul": Pattern(pair("Mul"), ("mul",)),
    "add a constant": Pattern(with_constant, ("add",)),
    "squeeze and excite": Pattern(excited, ("rearrange", "mean", "conv2d", "lookup", "mul", "rearrange"), 2),
    "normalised": Pattern(normalised, ("rearrange", "max_pool2d", "depthwise_conv2d", "rearrange")),
    "biased": Pattern(biased, ("dense", "depthwise_conv2d"), 2),
    "sigmoid": Pattern(one("Sigmoid", scale=1 / 256, zero_point=-128), ("lookup",), 0),
    "tanh": Pattern(one("Tanh", scale=1 / 128, zero_point=0), ("lookup",), 0),
    "leaky relu": Pattern(one("LeakyRelu", alpha=0.1), ("lookup",), 0),
    "hard swish": Pattern(one("HardSwish"), ("lookup",), 0),
    "hard sigmoid": Pattern(one("HardSigmoid", scale=1 / 256, zero_point=-128), ("lookup",), 0),
    "elu": Pattern(one("Elu"), ("lookup",), 0),
    "gelu": Pattern(one("Gelu"), ("lookup",), 0),
    "relu": Pattern(one("Relu"), ("lookup",), 0),
    "exponential": Pattern(one("Exp", scale=0.3, zero_point=-100), ("lookup",), 0),
    "silu": Pattern(silu, ("lookup",), 0),
    "other steps": Pattern(one("Identity"), ("lookup",), 0),
    "max pool": Pattern(
        one("MaxPool", scale=STEP, zero_point=3, kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        ("rearrange", "max_pool2d", "rearrange"),
        0,
    ),
    "average pool": Pattern(averaged(2, STEP), ("rearrange", "average_pool2d", "rearrange")),
    "average pool in other steps": Pattern(
        averaged(2, 1 / 45), ("rearrange", "depthwise_conv2d", "rearrange")
    ),
    "global average": Pattern(one("GlobalAveragePool"), ("rearrange", "mean")),
    "reduced mean": Pattern(reduced, ("rearrange", "mean")),
    "mean of words": Pattern(words, ("mean",)),
    "between pixels": Pattern(enlarged("half_pixel", 2, 2), ("rearrange", "conv2d", "resize", "rearrange")),
    "between pixels, corners stay": Pattern(
        enlarged("align_corners", 3, 2), ("rearrange", "conv2d", "resize", "rearrange"), 2
    ),
    "between pixels, from the corner on": Pattern(
        enlarged("asymmetric", 1, 2), ("rearrange", "conv2d", "resize", "rearrange")
    ),
    "softmax": Pattern(one("Softmax", scale=1 / 256, zero_point=-128), ("softmax",)),
    "softmax in other steps": Pattern(
        one("Softmax", scale=1 / 255, zero_point=-128), ("softmax", "quantize")
    ),
    "softmax in fine steps": Pattern(one("Softmax", scale=1 / 700, zero_point=-100), ("softmax", "quantize")),
    "log softmax": Pattern(one("LogSoftmax", scale=1 / 16, zero_point=127), ("log_softmax",)),
    "concat": Pattern(concatenated, ("lookup", "lookup", "concat"), 0),
    "pad": Pattern(padded, ("pad", "pad"), 0),
    "transpose, slice, reshape": Pattern(moved, ("rearrange",), 0),
    "16-bit activations": Pattern(wide, ("rearrange", "conv2d", "rearrange")),
    "gemm of 16-bit activations": Pattern(wide_gemm, ("dense",)),
    "QLinearConv": Pattern(qlinear_conv, ("rearrange", "conv2d", "max_pool2d", "rearrange")),
    "QLinearAdd": Pattern(qlinear_add, ("add",)),
    "QLinearSigmoid": Pattern(qlinear("QLinearSigmoid"), ("lookup",), 0),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_becomes_integer_ops_near_what_onnx_runtime_gives(name):
    data = model_of(name)
    graph = run_meaning(read_onnx(data, "net.onnx")).graph
    assert tuple(n.op.name for n in graph.nodes if not isinstance(n.op, Reshape)) == PATTERNS[name].ops
    assert {graph.types[v].dtype for n in graph.nodes for v in n.outputs} & {DType.F32} == set()
    assert furthest(data, graph) <= PATTERNS[name].steps


# Pixels between others are reckoned in integers, as TFLite does it, whatever the rounding of sums.
SUMS = [
    n
    for n, p in PATTERNS.items()
    if {"conv2d", "dense", "batch_matmul"} & set(p.ops) and "resize" not in p.ops and p.steps == 1
]


@pytest.mark.parametrize("name", [n for n in SUMS if n != "16-bit activations"])
def test_sums_that_are_rounded_once_are_those_of_onnx_runtime(name):
    data = model_of(name)
    assert furthest(data, run_meaning(read_onnx(data, "net.onnx", "onnx")).graph) == 0


@pytest.mark.parametrize(("variance", "pruned"), [(0.05, 0), (1.0, 0), (30.0, 0), (1e-4, 48)])
def test_a_batch_normalization_of_integers_rounds_as_onnx_runtime_does(variance, pruned):
    """Pruned channels have a factor of zero: of them only the summand is left."""
    build, rng = QdqBuilder("normalised"), np.random.default_rng(4)
    parts = [*rng.uniform(-2, 2, (3, 96)), rng.uniform(0.5, 2, 96) * variance]
    parts[0][:pruned] = 0
    image = build.input("x", (1, 96, 16, 16), STEP, 3)
    x = build.quantised(build.node("MaxPool", image, kernel_shape=[1, 1]), STEP, 3)
    y = build.node("BatchNormalization", x, *(build.constant(part.astype(np.float32)) for part in parts))
    data = build.finish(build.quantised(y, 1 / 30, -20))
    every = np.broadcast_to(np.arange(-128, 128, dtype=np.int8).reshape(1, 1, 16, 16), (1, 96, 16, 16))
    (wanted,) = run_onnx(data, {"x": every})
    graph = run_meaning(read_onnx(data, "net.onnx", "onnx")).graph
    made = run_graph(graph, {"x": every})[graph.outputs[0]]
    assert "depthwise_conv2d" in {node.op.name for node in graph.nodes}
    # Of 24,576 values one may be so near a midpoint that no offset in the steps of a weight decides it.
    assert np.count_nonzero(made != wanted) <= 1


def model_of(name: str) -> bytes:
    build = QdqBuilder(name)
    return build.finish(PATTERNS[name].build(build, np.random.default_rng(5)))


def furthest(data: bytes, graph: Graph) -> int:
    """The largest difference from ONNX Runtime, in steps."""
    rng, found = np.random.default_rng(6), 0
    for _ in range(4):
        inputs = {name: _random(rng, graph.types[name]) for name in graph.inputs}
        (wanted,) = run_onnx(data, inputs)
        made = run_graph(graph, inputs)[graph.outputs[0]]
        assert (made.dtype, made.shape) == (wanted.dtype, wanted.shape)
        assert np.unique(wanted).size > 2, "the pattern saturates"
        found = max(found, int(np.abs(made.astype(int) - wanted.astype(int)).max()))
    return found


def _random(rng: np.random.Generator, tensor: TensorType) -> Array:
    return rng.integers(*tensor.dtype.limits, tensor.shape, endpoint=True).astype(tensor.dtype.numpy)
