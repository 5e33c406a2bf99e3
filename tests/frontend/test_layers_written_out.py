"""Operators that become several ops, and weights that are not as the ops want them, by their definitions."""

import numpy as np
import numpy.typing as npt
import pytest
import tflite
from tflite_builder import ModelBuilder

from aot.errors import ModelError
from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph, run_series
from aot.ir.graph import Graph
from aot.ir.types import Array, DType
from aot.ir.verify import verify
from aot.ops.requant import multiply_by_quantized_multiplier, quantize_multiplier

FloatArray = npt.NDArray[np.float64]
CONV = {"StrideH": 1, "StrideW": 1, "DilationHFactor": 1, "DilationWFactor": 1}


def read(build: ModelBuilder, *outputs: str) -> Graph:
    graph = read_tflite(build.finish(*outputs), "net.tflite")
    verify(graph)
    return graph


def only(outputs: dict[str, Array]) -> Array:
    (array,) = outputs.values()
    return array


def floats(seed: int, *shape: int) -> npt.NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def scattered(
    x: Array, w: Array, stride: tuple[int, int], before: tuple[int, int], shape: tuple[int, ...]
) -> FloatArray:
    """Each pixel of x adds its multiple of the kernel to the result."""
    y = np.zeros(shape)
    for row, column in np.ndindex(*x.shape[1:3]):
        for r, c in np.ndindex(*w.shape[1:3]):
            at = row * stride[0] + r - before[0], column * stride[1] + c - before[1]
            if 0 <= at[0] < shape[1] and 0 <= at[1] < shape[2]:
                y[:, at[0], at[1]] += x[:, row, column] @ w[:, r, c].T
    return y


@pytest.mark.parametrize(
    ("kernel", "stride", "size", "padding", "before"),
    [
        ((3, 3), (2, 2), (8, 10), tflite.Padding.SAME, (0, 0)),
        ((4, 4), (2, 2), (8, 10), tflite.Padding.SAME, (1, 1)),
        ((3, 2), (1, 1), (6, 6), tflite.Padding.VALID, (0, 0)),
        ((2, 3), (2, 3), (8, 15), tflite.Padding.VALID, (0, 0)),
        ((1, 1), (2, 2), (7, 9), tflite.Padding.VALID, (0, 0)),
    ],
)
def test_a_transposed_convolution_scatters(kernel, stride, size, padding, before):
    x, w = floats(1, 1, 4, 5, 3), floats(2, 2, *kernel, 3)
    build = ModelBuilder()
    source = build.input("x", x.shape, dtype="float32")
    shape = build.constant("shape", np.array([1, *size, 2], np.int32))
    weights = build.constant("w", w)
    y = FileTensor("y", (1, *size, 2), "float32")
    fields = {"Padding": padding, "StrideH": stride[0], "StrideW": stride[1]}
    build.operator("TRANSPOSE_CONV", 1, (shape, weights, source), [y], "TransposeConvOptions", **fields)
    made = only(run_graph(read(build, "y"), {"x": x}))
    assert np.allclose(made, scattered(x, w, stride, before, (1, *size, 2)), atol=1e-5)


@pytest.mark.parametrize(("samples", "rank"), [(1, 1), (1, 2), (2, 3)])
def test_an_svdf_remembers(samples, rank):
    units, steps, depth = 3, 4, 5
    features, times, bias = floats(3, units * rank, depth), floats(4, units * rank, steps), floats(5, units)
    build = ModelBuilder()
    x = build.input("x", (samples, depth), dtype="float32")
    constants = [build.constant(n, a) for n, a in (("f", features), ("t", times), ("b", bias))]
    build.tensors["memory"] = FileTensor("memory", (samples, units * rank * steps), "float32")
    y = FileTensor("y", (samples, units), "float32")
    build.operator("SVDF", 1, (x, *constants, "memory"), [y], "SVDFOptions", Rank=rank)
    series = [{"x": floats(10 + n, samples, depth)} for n in range(6)]
    memory = np.zeros((samples, units * rank, steps))
    for sample, outputs in zip(series, run_series(read(build, "y"), series), strict=True):
        memory = np.concatenate([memory[..., 1:], (sample["x"] @ features.T)[..., np.newaxis]], axis=2)
        wanted = (memory * times).sum(axis=2).reshape(samples, units, rank).sum(axis=2) + bias
        assert np.allclose(only(outputs), wanted, atol=1e-5)


@pytest.mark.parametrize(
    ("first", "second", "adjoint"),
    [
        ((2, 3, 4), (2, 4, 5), (0, 0)),
        ((2, 1, 3, 4), (3, 4, 5), (0, 0)),
        ((2, 4, 3), (4, 5), (1, 0)),
        ((3, 4), (2, 2, 5, 4), (0, 1)),
        ((1, 4, 3), (5, 4), (1, 1)),
    ],
)
@pytest.mark.parametrize("is_constant", [False, True])
def test_products_of_matrices(first, second, adjoint, is_constant):
    a, b = floats(6, *first), floats(7, *second)
    wanted = np.matmul(a.swapaxes(-1, -2) if adjoint[0] else a, b.swapaxes(-1, -2) if adjoint[1] else b)
    build = ModelBuilder()
    x = build.input("x", first, dtype="float32")
    y = build.constant("y", b) if is_constant else build.input("y", second, dtype="float32")
    fields = dict(zip(("AdjX", "AdjY"), adjoint, strict=True))
    out = FileTensor("out", wanted.shape, "float32")
    build.operator("BATCH_MATMUL", 1, (x, y), [out], "BatchMatMulOptions", **fields)
    given = {"x": a} if is_constant else {"x": a, "y": b}
    assert np.allclose(only(run_graph(read(build, "out"), given)), wanted, atol=1e-5)


def unsigned_conv(low: int, high: int) -> tuple[Graph, Array, Array]:
    """A pointwise convolution on unsigned numbers, with weights in that range and zero point 100."""
    rng = np.random.default_rng(9)
    x = rng.integers(0, 256, (1, 4, 4, 6)).astype(np.uint8)
    w = rng.integers(low, high, (3, 1, 1, 6)).astype(np.uint8)
    build = ModelBuilder()
    source = build.input("x", x.shape, 0.5, 17, "uint8")
    weights = build.constant("w", w, [0.25], zero_points=[100])
    bias = build.constant("b", np.array([5, -700, 900], np.int32))
    y = FileTensor("y", (1, 4, 4, 3), "uint8", (20.0,), (90,))
    build.operator("CONV_2D", 1, (source, weights, bias), [y], "Conv2DOptions", Padding=1, **CONV)
    return read(build, "y"), x, w


@pytest.mark.parametrize(("low", "high", "dtype"), [(90, 200, DType.I8), (0, 256, DType.I16)])
def test_unsigned_layers_are_exact_in_signed_integers(low, high, dtype):
    graph, x, w = unsigned_conv(low, high)
    (conv,) = (node for node in graph.nodes if node.op.name == "conv2d")
    assert graph.types[conv.reads[1]].dtype is dtype
    sums = (x.astype(np.int64) - 17) @ (w.astype(np.int64).reshape(3, 6) - 100).T + [5, -700, 900]
    wanted = multiply_by_quantized_multiplier(sums, *quantize_multiplier(0.5 * 0.25 / 20.0)) + 90
    made = only(run_graph(graph, {"x": x}))
    assert made.dtype == np.uint8
    assert np.array_equal(made, np.clip(wanted, 0, 255))


def test_means_of_unsigned_numbers_round_up():
    x = np.array([0, 1, 255, 254, 7, 8, 100, 101], np.uint8).reshape(1, 2, 4, 1)
    build = ModelBuilder()
    source = build.input("x", x.shape, 0.5, 3, "uint8")
    graph = read(build, build.pool2d("AVERAGE", source, (1, 2)))
    assert only(run_graph(graph, {"x": x})).ravel().tolist() == [1, 255, 8, 101]


def test_layers_on_floats_take_what_quantised_weights_stand_for():
    w = np.array([[1, -2, 3], [4, 5, -6]], np.int8)
    build = ModelBuilder()
    x = build.input("x", (1, 3), dtype="float32")
    weights = build.constant("w", w, [0.5, 0.25])
    y = FileTensor("y", (1, 2), "float32")
    build.operator("FULLY_CONNECTED", 4, (x, weights, None), [y], "FullyConnectedOptions")
    made = only(run_graph(read(build, "y"), {"x": np.array([[1, 10, 100]], np.float32)}))
    assert made.tolist() == [[(1 - 20 + 300) * 0.5, (4 + 50 - 600) * 0.25]]


def test_an_svdf_whose_rank_does_not_fit_is_refused():
    build = ModelBuilder()
    x = build.input("x", (1, 2), dtype="float32")
    features, times = build.constant("f", floats(1, 3, 2)), build.constant("t", floats(2, 3, 4))
    build.tensors["memory"] = FileTensor("memory", (1, 12), "float32")
    y = FileTensor("y", (1, 1), "float32")
    build.operator("SVDF", 1, (x, features, times, None, "memory"), [y], "SVDFOptions", Rank=2)
    with pytest.raises(ModelError) as caught:
        read(build, "y")
    assert caught.value.what == "rank 2 does not fit its 3 filters"
