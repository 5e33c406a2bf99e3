"""A graph written in Python is a model like one of a file, and its mistakes are reported as they are made."""

from collections.abc import Callable

import numpy as np
import pytest

import deploy
from aot.errors import InputError
from aot.ir.types import Array
from deploy.python_api.graph_builder import GraphValue, ModelGraph

pytestmark = pytest.mark.usefixtures("own_folders")
RANDOM = np.random.default_rng(2)
IMAGE = RANDOM.normal(size=(1, 2, 6, 6)).astype(np.float32)


def only(g: ModelGraph, value: GraphValue, **given: Array) -> Array:
    """What the reference computes of a value."""
    g.output(value, "result")
    return g.model().run(given)["result"]


def test_operators_are_numpy_s():
    g = deploy.graph("sums")
    a, b = g.input("a", (2, 3)), g.input("b", (3,))
    x, y = RANDOM.normal(size=(2, 3)).astype(np.float32), RANDOM.normal(size=3).astype(np.float32)
    found = only(g, (2 - a) * b + a / 4 - (-b) + np.ones((2, 1)), a=x, b=y)
    assert np.allclose(found, (2 - x) * y + x / 4 + y + 1, atol=1e-6)


def test_operators_of_whole_numbers_and_conditions_are_numpy_s():
    a, b = (RANDOM.integers(-128, 128, 6, np.int8) for _ in range(2))
    c, d = a > 0, b > 0
    g = deploy.graph("whole")
    assert np.array_equal(only(g, g.input("a", (6,), "i8") % 5, a=a), a % 5)
    g = deploy.graph("shifted")
    assert np.array_equal(only(g, g.input("a", (6,), "u8") >> 3, a=a.view(np.uint8)), a.view(np.uint8) >> 3)
    g = deploy.graph("logic")
    x, y = g.input("c", (6,), "bool"), g.input("d", (6,), "bool")
    assert np.array_equal(only(g, ~x & y | x ^ False, c=c, d=d), ~c & d | c)


def test_a_matrix_product_and_a_new_shape():
    g = deploy.graph("product")
    x = RANDOM.normal(size=(4, 3)).astype(np.float32)
    w = RANDOM.normal(size=(3, 5))
    found = only(g, g.reshape(g.input("x", (4, 3)) @ w, (2, 10)), x=x)
    assert np.allclose(found, (x @ w).reshape(2, 10), atol=1e-5)


def network() -> ModelGraph:
    g = deploy.graph("network")
    x = g.input("image", (1, 2, 6, 6))
    wide = g.conv2d(
        x, RANDOM.normal(size=(4, 2, 3, 3)), RANDOM.normal(size=4), padding="same", activation="relu"
    )
    deep = g.conv2d(wide, RANDOM.normal(size=(4, 1, 3, 3)), padding=1, groups=4, activation="relu6")
    joined = g.concat([wide, g.activation(deep, "tanh")])
    small = g.average_pool2d(g.max_pool2d(joined, 2), 3, stride=1, padding=1)
    g.output(g.softmax(g.dense(small, RANDOM.normal(size=(5, 72)) / 9, activation="sigmoid")), "class")
    g.output(g.mean_of_image(joined), "means")
    return g


@pytest.mark.cc
def test_it_is_compiled_and_run_like_a_file(tmp_path):
    g = network()
    model = g.model()
    assert [tuple(each.shape) for each in model.outputs.values()] == [(1, 5), (1, 8, 1, 1)]
    compiled = deploy.compile(model, "host", optimize="ram")
    assert deploy.verify(compiled, inputs=IMAGE).equal
    loaded = deploy.load(g.save(tmp_path / "network.onnx"))
    for name, wanted in model.run(IMAGE).items():
        assert np.array_equal(loaded.run(IMAGE)[name], wanted)
    assert str(model).startswith('graph "network"')
    assert model.path.read_bytes() == g.model().path.read_bytes()


def test_between_quantize_and_dequantize_layers_are_integers():
    g = deploy.graph("integers")
    x = g.dequantize(g.quantize(g.input("x", (1, 4)), 0.5), 0.5)
    w = g.dequantize(g.constant(np.array([[1, 2, 3, 4]], np.int8)), 0.25)
    g.output(g.dequantize(g.quantize(g.dense(x, w), 0.125), 0.125), "y")
    compiled = deploy.compile(g.model(), "mps2-an386")
    assert "dense" in {layer.op for layer in compiled.model.layers}
    found = g.model().run(np.array([[0.5, -0.5, 1, 1.5]], np.float32))["y"]
    assert found.tolist() == [[0.25 * (0.5 - 1 + 3 + 6)]]


W = np.zeros((4, 2, 3, 3))
MISTAKES: dict[str, tuple[Callable[[ModelGraph, GraphValue], object], str]] = {
    "channels": (
        lambda g, x: g.conv2d(x, np.zeros((4, 3, 3, 3))),
        "conv2d(f32[1, 2, 6, 6], f32[4, 3, 3, 3]): the image has 2 channels, the weights 3",
    ),
    "product": (
        lambda g, x: x @ np.zeros((5, 5)),
        "MatMul(f32[1, 2, 6, 6], f32[5, 5]): Incompatible dimensions",
    ),
    "sum": (lambda g, x: x + np.zeros((4,)), "Add(f32[1, 2, 6, 6], f32[4]): "),
    "types": (lambda g, x: x + np.zeros((6,), np.int8), "Add(f32[1, 2, 6, 6], i8[6]): "),
    "operator": (lambda g, x: g.apply("Konv", x), 'ONNX has no operator "Konv" - did you mean "Conv"?'),
    "name": (lambda g, x: g.input("image", (1,)), 'the name "image" is taken'),
    "type": (lambda g, x: g.input("y", (1,), "f23"), 'there is no type "f23" - did you mean "f32"?'),
    "size": (lambda g, x: g.input("y", (1, 0)), "y has the shape [1, 0]; sizes must be at least 1"),
    "reshape": (
        lambda g, x: g.reshape(x, (7, 9)),
        "reshape: <image: f32[1, 2, 6, 6]> has 72 elements, [7, 9] has 63",
    ),
    "activation": (
        lambda g, x: g.activation(x, "rely"),
        'there is no activation "rely" - did you mean "relu"?',
    ),
    "padding": (
        lambda g, x: g.max_pool2d(x, 2, padding="all"),
        'padding must be a number of pixels or "same", not "all"',
    ),
    "text": (lambda g, x: x * "two", "'two' is neither a value of the graph nor an array of numbers"),
    "other": (
        lambda g, x: deploy.graph("f").output(x),
        "<image: f32[1, 2, 6, 6]> is not a value of the graph f",
    ),
    "nothing": (lambda g, x: g.model(), "g has no output"),
    "shape of a number": (lambda g, x: g.input("y", 4), "input: shape is 4, but must be a list"),  # type: ignore[arg-type]
    "half a size": (lambda g, x: g.input("y", (1.5,)), "input: shape is (1.5,), but must be a list"),  # type: ignore[arg-type]
    "no constant": (lambda g, x: g.constant(None), "None is neither a value of the graph nor an array"),  # type: ignore[arg-type]
    "constant of a list with gaps": (lambda g, x: x * [[1], [1, 2]], "[[1], [1, 2]] is neither a value"),
    "bias": (
        lambda g, x: g.conv2d(x, W, np.zeros(3)),
        "conv2d(f32[1, 2, 6, 6], f32[4, 2, 3, 3], f32[3]): the bias",
    ),
    "filter that is larger": (
        lambda g, x: g.conv2d(x, np.zeros((4, 2, 9, 9))),
        "Conv(f32[1, 2, 6, 6], f32[4, 2, 9, 9], none): it would be f32[1, 4, -2, -2], but sizes",
    ),
    "window that is larger": (lambda g, x: g.max_pool2d(x, 99), "windows of 99 do not fit <image"),
    "no padding": (lambda g, x: g.conv2d(x, W, padding=None), "conv2d: padding is None, but must be a whole"),  # type: ignore[arg-type]
    "list of one": (
        lambda g, x: g.concat(x),  # type: ignore[arg-type]
        "concat: values is <image: f32[1, 2, 6, 6]>, but must be a list",
    ),
    "two open sizes": (lambda g, x: g.reshape(x, (-1, -1)), "[-1, -1] is not a valid shape for <image"),
    "no scale": (lambda g, x: g.quantize(x, 0.0), "the scale must be finite and more than 0, not 0"),
    "scale without end": (
        lambda g, x: g.quantize(x, float("inf")),
        "the scale must be finite and more than 0, not inf",
    ),
    "zero point": (lambda g, x: g.quantize(x, 0.1, 300), "the zero point 300 does not fit i8"),
    "zero point of reals": (lambda g, x: g.dequantize(x, 0.1), "the zero point 0 does not fit f32"),
    "attribute": (lambda g, x: g.apply("Relu", x, slope=object()), "Relu(f32[1, 2, 6, 6]): "),
    "comparison": (lambda g, x: x < 2, "values of a graph are not compared"),  # type: ignore[operator]
    "rest": (lambda g, x: x % 2, "a value of a graph of type f32 has no %"),
    "whole quotient": (lambda g, x: 7 // x, "a value of a graph of type f32 has no //"),
    "both parts": (lambda g, x: divmod(x, 2), "values of a graph are not divided with a remainder"),  # type: ignore[operator]
    "choice": (lambda g, x: 1 if x else 0, "values of a graph are not known while the graph is written"),
    "part": (lambda g, x: x[0], "values of a graph are not taken apart by [...]"),  # type: ignore[index]
    "name of a graph": (lambda g, x: deploy.graph(3), "graph: name is 3, but must be a string"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_reported_with_its_line(name):
    g = deploy.graph("g")
    x = g.input("image", (1, 2, 6, 6))
    make, what = MISTAKES[name]
    with pytest.raises(InputError) as caught:
        make(g, x)
    assert caught.value.what.startswith(what)
    assert caught.value.where.startswith(f"{__file__}:")
    assert repr(g) == "<graph g: <image: f32[1, 2, 6, 6]> -> , 0 nodes>"


def test_a_graph_is_saved_as_onnx_only(tmp_path):
    with pytest.raises(deploy.DeployError, match="a graph is saved as ONNX"):
        network().save(tmp_path / "network.tflite")
