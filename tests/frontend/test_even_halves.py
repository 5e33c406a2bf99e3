"""Scales that are powers of two, as ESP-PPQ chooses them: exact halves as ONNX Runtime rounds them."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from onnx_oracle import run_onnx
from qdq_builder import QdqBuilder

from aot.frontend.load import parse_model
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ops.rounding import PARITY

Build = Callable[[QdqBuilder, np.random.Generator, str, int], str]  # of the layer, from a type and zero point
X, W = 2.0**-5, 2.0**-7


def weighted(op: str, w_shape: tuple[int, ...], x_shape: tuple[int, ...], **attributes: Any) -> Build:
    def build(b: QdqBuilder, rng: np.random.Generator, dtype: str, zero: int) -> str:
        x = b.input("x", x_shape, X, zero, dtype)
        w = rng.integers(-128, 128, w_shape).astype(np.int8)
        scales = [W] if op == "Gemm" else [W * 2.0 ** -(n % 3) for n in range(w_shape[0])]
        return b.node(op, x, b.weights(w, scales), **attributes)

    return build


def pair(op: str, first: float = X, second: float = X, shape: tuple[int, ...] = (1, 300)) -> Build:
    def build(b: QdqBuilder, rng: np.random.Generator, dtype: str, zero: int) -> str:
        x, z = b.input("x", shape, first, zero, dtype), b.input("z", shape, second, zero, dtype)
        return b.node(op, x, b.node("Transpose", z, perm=[0, 2, 1]) if op == "MatMul" else z)

    return build


def one(op: str, shape: tuple[int, ...], **attributes: Any) -> Build:
    def build(b: QdqBuilder, rng: np.random.Generator, dtype: str, zero: int) -> str:
        return b.node(op, b.input("x", shape, X, zero, dtype), **attributes)

    return build


# The layer, and the scale of its result.
LAYERS: dict[str, tuple[Build, float]] = {
    "Conv": (weighted("Conv", (6, 3, 1, 1), (1, 3, 9, 9)), 2.0**-4),
    "Conv of planes": (weighted("Conv", (8, 1, 2, 2), (1, 8, 7, 7), group=8), 2.0**-4),
    "Gemm": (weighted("Gemm", (200, 4), (1, 4), transB=1), 2.0**-4),
    "MatMul": (pair("MatMul", shape=(1, 15, 3)), 2.0**-3),
    "Add": (pair("Add"), 2 * X),
    "Add of other scales": (pair("Add", X, X / 8), 2 * X),
    "Sub": (pair("Sub"), 2 * X),
    "Mul": (pair("Mul"), 2.0**-5),
    "AveragePool": (one("AveragePool", (1, 8, 8, 8), kernel_shape=[2, 2], strides=[2, 2]), X / 2),
    "GlobalAveragePool": (one("GlobalAveragePool", (1, 64, 2, 4)), X / 2),
}
TYPES = [("int8", 0, 0), ("int8", 5, -3), ("uint8", 128, 128), ("uint8", 127, 3)]


def model(layer: str, dtype: str, zeros: tuple[int, int], after: str, factor: float = 1) -> bytes:
    rng = np.random.default_rng(3)
    b, (build, scale) = QdqBuilder("net"), LAYERS[layer]
    y = build(b, rng, dtype, zeros[0])
    y = b.node(after, y) if after else y
    return b.finish(b.quantised(y, scale * factor, zeros[1], dtype))


def outputs(graph: Graph, inputs: dict[str, Any]) -> Any:
    (found,) = run_graph(graph, inputs).values()
    return found


@pytest.mark.parametrize(("dtype", "x_zero", "y_zero"), TYPES)
@pytest.mark.parametrize(
    ("layer", "after"), [*product(LAYERS, [""]), *product([n for n in LAYERS if n != "MatMul"], ["Relu"])]
)
def test_halves_are_rounded_as_onnx_runtime_does(layer, dtype, x_zero, y_zero, after):
    data = model(layer, dtype, (x_zero, y_zero), after)
    graph, rng = parse_model(data, "net.onnx", "onnx"), np.random.default_rng(4)
    halves = 0
    once = parse_model(data, "net.onnx", "tflm")
    for _ in range(4):
        inputs = {name: random_bytes(rng, dtype, graph.types[name].shape) for name in graph.inputs}
        (wanted,) = run_onnx(data, inputs)
        np.testing.assert_array_equal(outputs(graph, inputs), wanted)
        halves += int((outputs(once, inputs) != wanted).sum())
    assert halves > 0, "no half is rounded up or away from zero"


def random_bytes(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Any:
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, endpoint=True).astype(dtype)


@pytest.mark.parametrize("layer", LAYERS)
def test_other_scales_and_other_runtimes_round_as_before(layer):
    """Halves are then rare, and only ONNX Runtime rounds them to even."""
    for mode, factor, is_even in (("onnx", 1, True), ("onnx", 0.93, False), ("tflm", 1, False)):
        graph = parse_model(model(layer, "int8", (0, 0), "", factor), "net.onnx", mode)
        roundings = {getattr(node.op, "rounding", None) for node in graph.nodes}
        assert bool(roundings & {*PARITY}) is is_even


@pytest.mark.parametrize("layer", ["Add", "Mul", "Gemm"])
def test_results_that_are_never_between_two_steps_round_as_before(layer):
    graph = parse_model(model(layer, "int8", (0, 0), "", 2.0**-10), "net.onnx", "onnx")
    assert {getattr(n.op, "rounding", None) for n in graph.nodes} & {*PARITY} == set()
