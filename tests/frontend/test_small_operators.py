"""Operators that become simpler ones: activations, comparisons, means, norms, quantized sums."""

from typing import Any

import numpy as np
import pytest
from tflite_builder import ModelBuilder

from aot.errors import ModelError
from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.types import Array
from aot.ir.verify import verify
from aot.ops.activation import Activation
from aot.ops.binary import Add, Mul, Sub
from aot.ops.max_pool2d import MaxPool2d
from aot.ops.mean import Mean
from aot.ops.op import Op
from aot.ops.quantize import Dequantize, Quantize
from aot.ops.unary import Clamp, HardSwish, LeakyRelu, Logistic, Tanh

REAL: tuple[tuple[float, ...], tuple[int, ...]] = ((), ())
HALVES = ((0.5,), (3,))


def read(model: ModelBuilder, *outputs: str) -> Graph:
    graph = read_tflite(model.finish(*outputs), "net.tflite", "tflm")
    verify(graph)
    return graph


UNARY: dict[str, tuple[str, dict[str, float], str, str, tuple[float, int], Op]] = {
    # code: options, fields, input, output, its scale and zero point, the op
    "RELU": ("", {}, "int8", "int8", (0.5, 3), Clamp(Activation.RELU)),
    "RELU6": ("", {}, "int8", "int8", (0.5, 3), Clamp(Activation.RELU6)),
    "RELU_N1_TO_1": ("", {}, "int8", "int8", (0.5, 3), Clamp(Activation.RELU_N1_TO_1)),
    "LEAKY_RELU": ("LeakyReluOptions", {"Alpha": 0.25}, "int8", "int8", (0.5, 3), LeakyRelu(0.25)),
    "LOGISTIC": ("", {}, "int8", "int8", (1 / 256, -128), Logistic()),
    "TANH": ("", {}, "int8", "int8", (1 / 128, 0), Tanh()),
    "HARD_SWISH": ("", {}, "int8", "int8", (0.5, 3), HardSwish()),
    "QUANTIZE": ("", {}, "float32", "int8", (0.5, 3), Quantize()),
    "DEQUANTIZE": ("", {}, "int8", "float32", (0.5, 3), Dequantize()),
}


@pytest.mark.parametrize("code", UNARY)
def test_a_function_of_one_element_is_one_op(code):
    options, fields, source, result, (scale, zero_point), op = UNARY[code]
    model = ModelBuilder()
    x = model.input("x", (1, 4), 0.5, 3, source)
    quant = REAL if result == "float32" else ((scale,), (zero_point,))
    y = model.operator(code, 1, (x,), [FileTensor("y", (1, 4), result, *quant)], options, **fields)
    assert [node.op for node in read(model, y).nodes] == [op]


@pytest.mark.parametrize(("code", "op"), [("ADD", Add), ("SUB", Sub), ("MUL", Mul)])
def test_arithmetic_keeps_its_activation_and_its_order(code, op):
    model = ModelBuilder()
    a, b = model.input("a", (1, 4), 0.5, 3), model.input("b", (1, 4), 0.5, 3)
    options, fields = f"{code.capitalize()}Options", {"FusedActivationFunction": 1}
    y = model.operator(code, 2, (a, b), [FileTensor("y", (1, 4), "int8", *HALVES)], options, **fields)
    (node,) = read(model, y).nodes
    assert (node.op, node.inputs) == (op(Activation.RELU), ("a", "b"))


def added(first: tuple[int, ...], second: tuple[int, ...], is_constant: bool) -> Graph:
    model = ModelBuilder()
    a = model.input("a", first, 0.5, 3)
    values = np.arange(int(np.prod(second)), dtype=np.int8).reshape(second)
    b = model.constant("b", values, (0.5,)) if is_constant else model.input("b", second, 0.5, 3)
    return read(model, model.add(a, b, scale=1.0))


def test_a_constant_gets_as_many_dimensions_as_the_result():
    graph = added((1, 4, 5, 3), (3,), is_constant=True)
    assert [node.op.name for node in graph.nodes] == ["add"]
    assert graph.types[graph.nodes[0].reads[1]].shape == (1, 1, 1, 3)


def test_an_input_gets_them_by_a_reshape():
    graph = added((1, 4, 5, 3), (3,), is_constant=False)
    assert [node.op.name for node in graph.nodes] == ["reshape", "add"]


def test_a_constant_that_is_repeated_gets_all_dimensions_but_no_more_elements():
    graph = added((2, 3, 4), (3, 4), is_constant=True)
    assert [node.op.name for node in graph.nodes] == ["add"]
    assert graph.constants[graph.nodes[0].reads[1]].shape == (1, 3, 4)


def test_an_input_that_is_repeated_is_only_looked_at_with_all_dimensions():
    graph = added((2, 3, 4), (3, 4), is_constant=False)
    assert [node.op.name for node in graph.nodes] == ["reshape", "add"]


def mean(shape: tuple[int, ...], axes: list[int], result: tuple[int, ...], scale: float = 0.5) -> list[Op]:
    model = ModelBuilder()
    x, a = model.input("x", shape, 0.5, 3), model.constant("axes", np.array(axes, np.int32))
    y = model.operator(
        "MEAN", 2, (x, a), [FileTensor("y", result, "int8", (scale,), (3,))], "ReducerOptions", KeepDims=False
    )
    return [node.op for node in read(model, y).nodes if node.op.name != "reshape"]


@pytest.mark.parametrize(
    ("shape", "axes", "result", "op"),
    [
        ((1, 4, 5, 3), [1, 2], (1, 3), Mean((1, 2))),
        ((1, 4, 5, 3), [2, 1], (1, 1, 1, 3), Mean((1, 2))),
        ((1, 4, 5, 3), [-3], (1, 5, 3), Mean((1,))),
        ((1, 4, 5, 3), [3], (1, 4, 5), Mean((2,))),
        ((2, 6, 3), [1], (2, 3), Mean((2,))),
        ((7,), [0], (), Mean((2,))),
    ],
)
def test_any_mean_is_one_over_the_rows_or_columns_of_an_image(shape, axes, result, op):
    assert mean(shape, axes, result) == [op]


def test_axes_that_lie_apart_are_brought_together_first():
    assert [op.name for op in mean((2, 3, 4), [0, 2], (3,))] == ["rearrange", "mean"]


@pytest.mark.parametrize(("scale", "ops"), [(0.5, []), (0.25, [Quantize()])])
def test_the_mean_of_one_element_is_at_most_a_change_of_quantisation(scale, ops):
    assert mean((1, 1, 1, 3), [1, 2], (1, 3), scale) == ops


X = np.random.default_rng(5).standard_normal((1, 3, 4, 2)).astype(np.float32)


def made(code: str, shape: tuple[int, ...], options: str | None = None, **attributes: Any) -> Array:
    """The operator's result on X."""
    build = ModelBuilder()
    x = build.input("x", X.shape, dtype="float32")
    arguments = () if options is None else (options,)
    y = build.operator(code, 1, (x,), [FileTensor("y", shape, "float32")], *arguments, **attributes)
    graph = read_tflite(build.finish(y), "composed.tflite", "tflm")
    return run_graph(graph, {"x": X})["y"]


def test_log_softmax_is_the_logarithm_of_softmax():
    powers = np.exp(X.astype(np.float64))
    wanted = np.log(powers / powers.sum(-1, keepdims=True))
    assert np.allclose(made("LOG_SOFTMAX", X.shape), wanted, atol=1e-6)


def test_an_l2_normalised_vector_has_length_one():
    y = made("L2_NORMALIZATION", X.shape)
    assert np.allclose((y * y).sum(-1), 1, atol=1e-6)  # type: ignore[operator]


def test_an_l2_pool_is_the_root_of_the_mean_square():
    y = made(
        "L2_POOL_2D",
        (1, 1, 1, 2),
        "Pool2DOptions",
        Padding=1,
        StrideH=1,
        StrideW=1,
        FilterHeight=3,
        FilterWidth=4,
    )
    assert np.allclose(y.reshape(-1), np.sqrt((X * X).mean((0, 1, 2))), atol=1e-6)


def test_pools_of_squares_of_integers_are_refused_with_the_way_out():
    build = ModelBuilder()
    x = build.input("x", (1, 4, 4, 1), 0.5)
    y = build.operator(
        "L2_POOL_2D", 1, (x,), [FileTensor("y", (1, 4, 4, 1), "int8", (0.5,), (0,))], "Pool2DOptions",
        StrideH=1, StrideW=1, FilterHeight=1, FilterWidth=1,
    )  # fmt: skip
    with pytest.raises(ModelError) as refusal:
        read_tflite(build.finish(y), "composed.tflite", "tflm")
    assert refusal.value.what == "it is supported for f32 only, not for i8"
    assert refusal.value.hint == "convert this part of the model as float"


def quantised_sum(term_count: int, scale: float, zero_point: int) -> tuple[list[Array], Array]:
    """Terms of all stored values, and their ADD_N in steps of 0.3."""
    build, random = ModelBuilder(), np.random.default_rng(6)
    terms = [build.input(f"x{i}", (1, 256), scale, zero_point) for i in range(term_count)]
    result = FileTensor("y", (1, 256), "int8", (0.3,), (-7,))
    graph = read_tflite(
        build.finish(build.operator("ADD_N", 2, tuple(terms), [result])), "sum.tflite", "tflm"
    )
    arrays = [random.permutation(256).astype(np.uint8).view(np.int8)[None] for _ in terms]
    return arrays, run_graph(graph, dict(zip(graph.inputs, arrays, strict=True)))["y"]  # type: ignore[return-value]


@pytest.mark.parametrize("term_count", [2, 3, 15])
@pytest.mark.parametrize("zero_point", [0, 5])
def test_a_quantised_sum_of_many_is_rounded_once(term_count, zero_point):
    terms, y = quantised_sum(term_count, 0.11, zero_point)
    total = np.sum([t.astype(np.int64) for t in terms], axis=0) - (term_count + 1) * zero_point
    exact = total * (float(np.float32(0.11)) / float(np.float32(0.3))) - 7
    assert np.abs(y - np.clip(exact, -128, 127)).max() < 0.5 + 1e-6


def test_more_terms_than_fit_in_32_bits_are_refused():
    with pytest.raises(ModelError) as refusal:
        quantised_sum(16, 0.11, 0)
    assert refusal.value.what == "a sum of 16 quantized i8 terms with 1 quantizations is not supported"
    assert refusal.value.hint == "supported: up to 15 i8 terms with the same quantization"


def repeated_shape(first: list[int], second: list[int]) -> list[int]:
    """What BROADCAST_ARGS makes of two shapes."""
    build, given, shapes = (
        ModelBuilder(),
        {"a": np.array(first, np.float32), "b": np.array(second, np.float32)},
        [],
    )
    for name, array in given.items():
        x = build.input(name, array.shape, dtype="float32")
        shapes.append(build.operator("CAST", 1, (x,), [FileTensor(f"{name}s", array.shape, "int32")]))
    y = build.operator("BROADCAST_ARGS", 1, tuple(shapes), [FileTensor("y", (len(first),), "int32")])
    made = run_graph(read_tflite(build.finish(y), "shapes.tflite", "tflm"), given)["y"]
    return [int(size) for size in made]


def test_two_shapes_become_the_one_that_both_are_repeated_to():
    assert repeated_shape([1, 5, 1, 7], [3, 1, 1, 7]) == [3, 5, 1, 7]


def test_shapes_of_two_lengths_are_refused():
    with pytest.raises(ModelError) as refusal:
        repeated_shape([1, 5, 1, 7], [5, 1, 7])
    assert refusal.value.what == "shapes of [4] and [3] dimensions are not supported"


def test_slopes_of_8_bits_go_with_data_of_16():
    build = ModelBuilder()
    x = build.input("x", (1, 4), 0.5, 0, "int16")
    slopes = build.constant("slopes", np.array([[2, -2, 1, 3]], np.int8), (0.25,))
    y = build.operator("PRELU", 1, (x, slopes), [FileTensor("y", (1, 4), "int16", (0.5,), (0,))])
    graph = read_tflite(build.finish(y), "prelu.tflite", "tflm")
    made = run_graph(graph, {"x": np.array([[-100, -100, 100, -8]], np.int16)})["y"]
    assert made.tolist() == [[-50, 50, 100, -6]]


def test_a_reshape_to_a_scalar_may_name_an_empty_shape():
    build = ModelBuilder()
    x, shape = build.input("x", (1, 1), dtype="float32"), build.constant("shape", np.zeros((0,), np.int32))
    y = build.operator("RESHAPE", 1, (x, shape), [FileTensor("y", (), "float32")])
    graph = read_tflite(build.finish(y), "scalar.tflite", "tflm")
    assert run_graph(graph, {"x": np.array([[3]], np.float32)})["y"] == 3


def window_maximum(window: list[int], first: float, steps: list[int]) -> list[Op]:
    model = ModelBuilder()
    x = model.input("x", (1, 6, 6, 3), dtype="float32")
    lists = [
        model.constant(name, np.array(values, np.int64))
        for name, values in (("window", window), ("strides", [1, 2, 2, 1]), ("steps", steps))
    ]
    sizes = [
        (n - (w - 1) * step - 1) // s + 1
        for n, w, s, step in zip((1, 6, 6, 3), window, (1, 2, 2, 1), steps, strict=True)
    ]
    y = model.operator(
        "REDUCE_WINDOW", 1, (x, model.constant("first", np.array(first, np.float32)), *lists),
        [FileTensor("y", tuple(sizes), "float32")], "ReduceWindowOptions", ReduceFunction=4,
    )  # fmt: skip
    return [node.op for node in read(model, y).nodes if node.op.name != "reshape"]


def test_a_maximum_in_windows_of_an_image_is_a_pool():
    assert window_maximum([1, 2, 3, 1], -np.inf, [1, 1, 1, 1]) == [MaxPool2d((2, 3), (2, 2))]


@pytest.mark.parametrize(
    ("window", "first", "steps", "names"),
    [
        ([1, 2, 2, 1], 0.0, [1, 1, 1, 1], ["rearrange", "reduce", "combine"]),
        ([1, 2, 2, 1], -np.inf, [1, 2, 1, 1], ["rearrange", "reduce"]),
        ([1, 2, 2, 3], -np.inf, [1, 1, 1, 1], ["rearrange", "reduce"]),
    ],
)
def test_other_windows_are_put_side_by_side(window, first, steps, names):
    assert [op.name for op in window_maximum(window, first, steps)] == names


def test_bits_of_another_number_of_bytes_are_refused():
    model = ModelBuilder()
    x = model.input("x", (1, 4), dtype="float32")
    y = model.operator("BITCAST", 1, (x,), [FileTensor("y", (1, 4), "int16")], "BitcastOptions")
    with pytest.raises(ModelError, match="16 bytes of f32 cannot be read as 8 bytes of i16"):
        read(model, y)
