"""Means of ONNX models are rounded once; quantised with `--rounding onnx`, halves to even integers."""

import numpy as np
import pytest
from onnx import helper
from onnx_files import onnx_file
from onnx_oracle import run_onnx
from qdq_builder import QdqBuilder
from suite_batch import build_batch

from aot.frontend.load import parse_model
from aot.interpret import run_graph
from aot.ir.types import Array
from aot.passes.pipeline import run_meaning
from aot.target import Target
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job
from codegen.options import CompileOptions

SCALE = 0.0625  # a power of two: floats make no error of their own
SHAPE = (1, 3, 8, 8)


def pooled(op: str, zero_point: int, dtype: type[np.generic], **window: list[int]) -> bytes:
    """QuantizeLinear, DequantizeLinear, the pool, and the same two in the same steps."""
    constants = {"s": np.array(SCALE, np.float32), "z": np.array(zero_point, dtype)}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["x_q"]),
        helper.make_node("DequantizeLinear", ["x_q", "s", "z"], ["x_d"]),
        helper.make_node(op, ["x_d"], ["p"], **window),
        helper.make_node("QuantizeLinear", ["p", "s", "z"], ["p_q"]),
        helper.make_node("DequantizeLinear", ["p_q", "s", "z"], ["y"]),
    ]
    return onnx_file(nodes, {"x": SHAPE}, {"y": None}, constants, opset=13)


def run(data: bytes, x: Array, rounding: str) -> Array:
    graph = run_meaning(parse_model(data, "model.onnx", rounding)).graph
    assert "average_pool2d" in [node.op.name for node in graph.nodes]
    return next(iter(run_graph(graph, {"x": x}).values())).reshape(SHAPE[1], -1)


def stored(low: int, high: int, window: tuple[int, int]) -> Array:
    """Random integers, and in one channel only two neighbours: half of their means are halves."""
    rng = np.random.default_rng(3)
    image = rng.integers(low, high, SHAPE)
    image[0, 0] = 11 + (
        np.arange(64).reshape(8, 8) // 4 % 2 if window == (8, 8) else rng.integers(0, 2, (8, 8))
    )
    return np.asarray(image)


@pytest.mark.parametrize(("dtype", "zero_point"), [(np.int8, 5), (np.int8, 0), (np.uint8, 131)])
@pytest.mark.parametrize("window", [(2, 2), (8, 8), (4, 1)])
def test_a_half_goes_to_the_even_integer(dtype, zero_point, window, require_package):
    require_package("onnxruntime")
    from onnxruntime import InferenceSession  # an optional package

    if window == SHAPE[2:]:
        data = pooled("GlobalAveragePool", zero_point, dtype)
    else:
        data = pooled("AveragePool", zero_point, dtype, kernel_shape=[*window], strides=[*window])
    low, high = (0, 256) if dtype is np.uint8 else (-128, 128)
    integers = stored(low, high, window)
    x = ((integers - zero_point) * SCALE).astype(np.float32)
    made = run(data, x, "onnx")
    (wanted,) = InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, {"x": x})
    np.testing.assert_array_equal(made, wanted.reshape(made.shape))
    blocks = integers.reshape(3, 8 // window[0], window[0], 8 // window[1], window[1])
    counted_from = zero_point if window == SHAPE[2:] else 0  # global pools begin at the zero point
    even = np.rint(blocks.mean((2, 4)) - counted_from).reshape(made.shape) + counted_from
    np.testing.assert_array_equal(made / SCALE + zero_point, even)  # type: ignore[operator]


def test_elsewhere_a_half_goes_away_from_zero():
    data = pooled("AveragePool", 0, np.int8, kernel_shape=[2, 2], strides=[2, 2])
    x = np.full(SHAPE, 12 * SCALE, np.float32)
    x[..., ::2] += SCALE
    assert set(np.unique(run(data, x, "tflm")) / SCALE) == {13.0}  # type: ignore[operator]
    assert set(np.unique(run(data, x, "onnx")) / SCALE) == {12.0}  # type: ignore[operator]


def test_a_product_of_activations_is_rounded_once():
    rng = np.random.default_rng(4)
    apart = 0
    for _ in range(40):
        scales, zeros = 2 ** rng.uniform(-6, -3, 2), [int(zero) for zero in rng.integers(-99, 99, 3)]
        build = QdqBuilder()
        x = build.input("x", (1, 4, 9), float(scales[0]), zeros[0])
        y = build.input("y", (1, 4, 9), float(scales[1]), zeros[1])
        scale = float(scales.prod() * rng.uniform(50, 130))
        data = build.finish(build.quantised(build.node("Mul", x, y), scale, zeros[2]))
        given = {name: rng.integers(-128, 128, (1, 4, 9)).astype(np.int8) for name in "xy"}
        graph = run_meaning(parse_model(data, "model.onnx", "onnx")).graph
        (wanted,), (made,) = run_onnx(data, given), run_graph(graph, given).values()
        apart += int((made.reshape(wanted.shape) != wanted).sum())
    assert apart == 0


@pytest.mark.parametrize("op", ["GlobalAveragePool", "ReduceMean"])
def test_a_mean_in_other_steps_is_rounded_once(op):
    """In every bit what ONNX Runtime gives, whatever the steps of both sides are."""
    rng = np.random.default_rng(4)
    apart = 0
    for _ in range(40):
        scales, zeros = 2 ** rng.uniform(-6, -3, 2), [int(zero) for zero in rng.integers(-99, 99, 2)]
        size = tuple(int(length) for length in rng.integers(2, 12, 2))
        build = QdqBuilder()
        x = build.input("x", (1, 4, *size), float(scales[0]), zeros[0])
        more = () if op == "GlobalAveragePool" else (build.constant(np.array([2, 3])),)
        y = build.quantised(build.node(op, x, *more), float(scales[1]) / 4, zeros[1])
        data, given = build.finish(y), {"x": rng.integers(-128, 128, (1, 4, *size)).astype(np.int8)}
        graph = run_meaning(parse_model(data, "model.onnx", "onnx")).graph
        assert "mean" in [node.op.name for node in graph.nodes]
        (wanted,), (made,) = run_onnx(data, given), run_graph(graph, given).values()
        apart += int((made.reshape(wanted.shape) != wanted).sum())
    assert apart == 0


def mean_of_floats(op: str, batch: int, **attributes: int | list[int]) -> tuple[bytes, tuple[int, ...]]:
    shape = (batch, 3, 7, 5)
    others = ["x", "x"] if op == "Mean" else []
    node = helper.make_node(op, ["x", *others], ["y"], **attributes)
    return onnx_file([node], {"x": shape}, opset=13), shape


MEANS_OF_FLOATS = {
    "pool": mean_of_floats("AveragePool", 1, kernel_shape=[1, 3]),
    "pool_of_a_batch": mean_of_floats("AveragePool", 2, kernel_shape=[1, 3]),
    "padded_pool": mean_of_floats("AveragePool", 1, kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
    "pool_with_padding": mean_of_floats(
        "AveragePool", 1, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1
    ),
    "global_pool": mean_of_floats("GlobalAveragePool", 1),
    "global_pool_of_a_batch": mean_of_floats("GlobalAveragePool", 2),
    "reduction": mean_of_floats("ReduceMean", 1, axes=[1, 2]),
    "reduction_of_a_batch": mean_of_floats("ReduceMean", 2, axes=[2]),
    "of_inputs": mean_of_floats("Mean", 1),
}


@pytest.mark.cc
def test_a_mean_of_floats_is_rounded_once(tmp_path):
    """Sums of small integers are exact, so their mean is the float nearest to the quotient."""
    jobs = {}
    for name, (data, _) in MEANS_OF_FLOATS.items():
        imported = ImportedModel(parse_model(data, "mean.onnx", "tflm"), "mean.onnx", "00" * 32, name)
        jobs[name] = Job(imported, Target("host"), CompileOptions())
    hosts = build_batch({name: compile_job(job) for name, job in jobs.items()}, tmp_path)
    wrong = []
    for name, (data, shape) in MEANS_OF_FLOATS.items():
        x = np.random.default_rng(4).integers(-99, 100, shape).astype(np.float32)
        (wanted,) = run_onnx(data, {"x": x})
        runs = {"NumPy": run_graph(jobs[name].model.graph, {"x": x}), "C": hosts[name].run({"x": x})}
        wrong += [f"{name}, {what}" for what, made in runs.items() if not np.array_equal(made["y"], wanted)]
    assert wrong == []
