"""TFLite's operators on elements and pairs of elements, and means, become the ops they should."""

from __future__ import annotations

import numpy as np
import pytest
from tflite_builder import ModelBuilder

from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor
from aot.ir.graph import Graph
from aot.ir.verify import verify
from aot.ops.activation import Activation
from aot.ops.binary import Add, Mul, Sub
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
def test_a_function_of_one_element_is_one_op(code: str) -> None:
    options, fields, source, result, (scale, zero_point), op = UNARY[code]
    model = ModelBuilder()
    x = model.input("x", (1, 4), 0.5, 3, source)
    quant = REAL if result == "float32" else ((scale,), (zero_point,))
    y = model.operator(code, 1, (x,), [FileTensor("y", (1, 4), result, *quant)], options, **fields)
    assert [node.op for node in read(model, y).nodes] == [op]


@pytest.mark.parametrize(("code", "op"), [("ADD", Add), ("SUB", Sub), ("MUL", Mul)])
def test_arithmetic_keeps_its_activation_and_its_order(code: str, op: type[Add]) -> None:
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


def test_a_constant_gets_as_many_dimensions_as_the_result() -> None:
    graph = added((1, 4, 5, 3), (3,), is_constant=True)
    assert [node.op.name for node in graph.nodes] == ["add"]
    assert graph.types[graph.nodes[0].reads[1]].shape == (1, 1, 1, 3)


def test_an_input_gets_them_by_a_reshape() -> None:
    graph = added((1, 4, 5, 3), (3,), is_constant=False)
    assert [node.op.name for node in graph.nodes] == ["reshape", "add"]


def test_a_constant_that_is_repeated_gets_all_dimensions_but_no_more_elements() -> None:
    graph = added((2, 3, 4), (3, 4), is_constant=True)
    assert [node.op.name for node in graph.nodes] == ["add"]
    assert graph.constants[graph.nodes[0].reads[1]].shape == (1, 3, 4)


def test_an_input_that_is_repeated_is_only_looked_at_with_all_dimensions() -> None:
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
def test_any_mean_is_one_over_the_rows_or_columns_of_an_image(
    shape: tuple[int, ...], axes: list[int], result: tuple[int, ...], op: Op
) -> None:
    assert mean(shape, axes, result) == [op]


def test_axes_that_lie_apart_are_brought_together_first() -> None:
    assert [op.name for op in mean((2, 3, 4), [0, 2], (3,))] == ["rearrange", "mean"]


@pytest.mark.parametrize(("scale", "ops"), [(0.5, []), (0.25, [Quantize()])])
def test_the_mean_of_one_element_is_at_most_a_change_of_quantisation(scale: float, ops: list[Op]) -> None:
    assert mean((1, 1, 1, 3), [1, 2], (1, 3), scale) == ops
