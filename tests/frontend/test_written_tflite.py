"""Graphs written as TFLite files: read again and in LiteRT they are the same; what cannot be is named."""

import numpy as np
import pytest
from graphs import Draft
from litert_oracle import random_inputs, run_litert
from op_case import OpCase, Weights, int8, int8_weights, int32_bias, op_case
from tiny_models import TINY

from aot.errors import ModelError
from aot.frontend.load import parse_model
from aot.frontend.tflite.write import write_model
from aot.interpret import run_graph
from aot.ir.graph import Graph, Node
from aot.ir.types import DType, TensorType
from aot.ops.average_pool2d import AveragePool2d, Halves
from aot.ops.batch_matmul import BatchMatmul
from aot.ops.combine import Combination, Combine
from aot.ops.conv2d import Conv2d
from aot.ops.gather import Gather
from aot.ops.l2_norm import L2Norm
from aot.ops.lookup import Lookup, table_of
from aot.ops.op import Op
from aot.ops.quantize import Dequantize, Quantize
from aot.ops.rearrange import Rearrange
from aot.ops.reduce import Reduce, Reduction
from aot.ops.resize import Resize
from aot.ops.unary import HardSwish, Logistic, Tanh
from aot.ops.unary_math import MathFunction, UnaryMath
from aot.passes.pipeline import run_meaning

SAMPLES = 5


@pytest.mark.parametrize("name", sorted(TINY))
def test_a_model_read_and_written_gives_the_same_in_litert(name):
    data = TINY[name]()
    written = write_model(parse_model(data, f"{name}.tflite"), "again.tflite")
    inputs = random_inputs(data, SAMPLES, seed=3)
    assert np.array_equal(run_litert(written, inputs), run_litert(data, inputs))


@pytest.mark.parametrize("name", sorted(TINY))
def test_a_model_after_the_passes_can_be_written_too(name):
    graph = run_meaning(parse_model(TINY[name](), f"{name}.tflite")).graph
    again = parse_model(write_model(graph, "again.tflite"), "again.tflite")
    rng = np.random.default_rng(4)
    inputs = [rng.integers(-128, 128, graph.types[n].shape).astype(np.int8) for n in graph.inputs]
    first = run_graph(graph, dict(zip(graph.inputs, inputs, strict=True)))
    second = run_graph(again, dict(zip(again.inputs, inputs, strict=True)))
    for one, other in zip(graph.outputs, again.outputs, strict=True):
        assert np.array_equal(first[one], second[other])


def product(turned: bool, matrices: int = 3) -> Graph:
    """A product of matrices, the second of each pair constant."""
    shape = (1, matrices, 4, 8) if turned else (1, matrices, 8, 4)
    y = Weights(int8(*shape), np.random.default_rng(5).integers(-128, 128, shape).astype(np.int8))
    op = BatchMatmul(y_transposed=turned)
    return op_case("product", op, [int8(1, 3, 5, 8, zero_point=4)], int8(scale=0.3, zero_point=7), [y]).graph


def in_real_numbers(by: Reduction, scale: float, *functions: MathFunction) -> Graph:
    """Along the last dimension, between integers."""
    real = TensorType(DType.F32, ())
    d = Draft()
    value = d.node("real", Dequantize(), d.input("x", 1, 3, 5, 8), quant=real)
    for function in functions:
        value = d.node(function.value, UnaryMath(function), value, quant=real)
    folded = d.node("folded", Reduce(by, (3,)), value, quant=real)
    return d.graph(d.node("y", Quantize(DType.I8), folded, quant=int8(scale=scale, zero_point=-20)))


def steps_along_a_line() -> Graph:
    """What goes along time has strides of one direction only."""
    d = Draft()
    return d.graph(d.depthwise("y", d.input("x", 1, 5, 14, 3), stride=(1, 2)))


def extremes() -> Graph:
    d = Draft()
    x = d.input("x", 1, 3, 5, 8)
    line = Weights(int8(1, 1, 1, 8, zero_point=3), np.arange(-40, 40, 10, np.int8).reshape(1, 1, 1, 8))  # type: ignore[call-overload]
    high = d.node("high", Combine(Combination.MAXIMUM), x, quant=d.types[x], weights=[line])
    return d.graph(d.node("y", Combine(Combination.MINIMUM), high, x, quant=d.types[x]))


def enlarged(align_corners: bool) -> Graph:
    x = int8(1, 4, 5, 3, zero_point=-7)
    return op_case("enlarged", Resize((9, 10), align_corners, not align_corners), [x], x).graph


WRITTEN = {
    "between pixels": (enlarged(align_corners=False), ("RESIZE_BILINEAR",)),
    "between pixels, corners stay": (enlarged(align_corners=True), ("RESIZE_BILINEAR",)),
    "a depthwise layer along time": (steps_along_a_line(), ("PADV2", "DEPTHWISE_CONV_2D")),
    "extremes": (extremes(), ("MAXIMUM", "MINIMUM")),
    "a product of matrices": (product(turned=False), ("BATCH_MATMUL",)),
    "one by one turned matrix": (product(turned=True, matrices=1), ("BATCH_MATMUL",)),
    "a sum of roots": (
        in_real_numbers(Reduction.SUM, 0.3701, MathFunction.SQUARE, MathFunction.SQRT),
        ("DEQUANTIZE", "SQUARE", "SQRT", "SUM", "QUANTIZE"),
    ),
    "the largest of exponentials": (
        in_real_numbers(Reduction.MAXIMUM, 0.4, MathFunction.NEGATE, MathFunction.EXP),
        ("DEQUANTIZE", "NEG", "EXP", "REDUCE_MAX", "QUANTIZE"),
    ),
    "the least of magnitudes": (
        in_real_numbers(Reduction.MINIMUM, 0.004, MathFunction.SIN, MathFunction.ABS),
        ("DEQUANTIZE", "SIN", "ABS", "REDUCE_MIN", "QUANTIZE"),
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_graph_written_is_the_same_in_litert(name):
    graph, codes = WRITTEN[name]
    data = write_model(graph, "written.tflite")
    again = parse_model(data, "written.tflite")
    assert tuple(origin.split(" ")[0] for origin in dict.fromkeys(n.origin for n in again.nodes)) == codes
    inputs = random_inputs(data, SAMPLES, seed=3)
    (x,), (y,) = graph.inputs, graph.outputs
    wanted = np.stack([run_graph(graph, {x: sample})[y] for sample in inputs])
    assert np.unique(wanted).size > 4
    assert np.array_equal(run_litert(data, inputs), wanted)


def test_matrices_that_several_share_are_refused():
    y = Weights(int8(1, 2, 8, 4), np.ones((1, 2, 8, 4), np.int8))
    graph = op_case("shared", BatchMatmul(), [int8(1, 4, 5, 8)], int8(scale=0.3), [y]).graph
    with pytest.raises(ModelError) as refusal:
        write_model(graph, "shared.tflite")
    assert refusal.value.where == 'shared.tflite\nbatch_matmul "shared": 4 matrices share 2'


def test_every_node_that_tflite_cannot_say_is_named_at_once():
    real = TensorType(DType.F32, (2, 3))
    nodes = tuple(
        Node(name, UnaryMath(MathFunction.SOFTSIGN), (source,), (made,))
        for name, source, made in (("soft", "x", "a"), ("softer", "a", "y"))
    )
    graph = Graph("curves", ("x",), ("y",), nodes, dict.fromkeys(("x", "a", "y"), real), {})
    with pytest.raises(ModelError) as refusal:
        write_model(graph, "curves.tflite")
    assert refusal.value.what == "2 nodes of the integer model cannot be written as TFLite"
    assert refusal.value.where.splitlines() == [
        "curves.tflite",
        'unary_math "soft": softsign of f32',
        'unary_math "softer": softsign of f32',
    ]
    assert refusal.value.hint == "write the model as ONNX: -o MODEL.onnx"


OUT = int8(scale=0.03, zero_point=-7)
WEIGHTS = [int8_weights(2, 1, 1, 3, axis=0), int32_bias(2)]
UNSIGNED = {
    "conv2d": op_case("node", Conv2d(scales_in_single=True), [int8(1, 2, 2, 3)], OUT, WEIGHTS),
    "l2_norm": op_case("node", L2Norm(is_unsigned=True), [int8(1, 10)], int8(scale=1 / 128)),
}


@pytest.mark.parametrize("op_name", UNSIGNED)
def test_what_is_computed_as_litert_computes_unsigned_bytes_is_refused(op_name):
    with pytest.raises(ModelError) as refusal:
        write_model(UNSIGNED[op_name].graph, "model.tflite")
    assert refusal.value.where == f'model.tflite\n{op_name} "node": its bytes are unsigned in the file'


@pytest.mark.parametrize("halves", [Halves.UP, Halves.TO_EVEN])
def test_means_whose_halves_tflite_rounds_in_another_way_are_refused(halves):
    x = int8(1, 4, 4, 3)
    graph = op_case("means", AveragePool2d(halves=halves), [x], x).graph
    with pytest.raises(ModelError) as refusal:
        write_model(graph, "means.tflite")
    said = f'average_pool2d "means": its rounding of halves {halves.value}'
    assert refusal.value.where == f"means.tflite\n{said}"


X = int8(1, 4, 6, 8)
FINE = int8(scale=1 / 256, zero_point=-128)
CODES_OF_TABLE = ("CAST", "ADD", "GATHER")


def table(entries: np.ndarray, out: TensorType) -> OpCase:
    stored = Weights(TensorType(DType.I8, (256,), out.quant), entries.astype(np.int8))
    return op_case("table", Lookup(), [X], out, [stored])


def function(op: Op, out: TensorType) -> OpCase:
    """The table of a function."""
    entries = table_of(op, (None,), (X,), (TensorType(DType.I8, X.shape, out.quant),))
    assert entries is not None
    return table(entries, out)


def picked(shape: tuple[int, ...], *loops: tuple[int, int], offset: int = 0) -> OpCase:
    """Loops are (size, stride)."""
    sizes, strides = (tuple(each) for each in zip(*loops, strict=True))
    return op_case("picked", Rearrange(shape, sizes, strides, offset), [X], X)


def gathered(axis: int, *places: int) -> OpCase:
    stored = Weights(TensorType(DType.I32, (len(places),)), np.array(places, np.int32))
    return op_case("gathered", Gather(axis), [X], X, [stored])


CASES = {
    "any table": (table(np.random.default_rng(2).integers(-128, 128, 256), FINE), CODES_OF_TABLE),
    "a sigmoid": (function(Logistic(), FINE), ("LOGISTIC",)),
    "a hyperbolic tangent": (function(Tanh(), int8(scale=1 / 128)), ("TANH",)),
    "a hard swish": (function(HardSwish(), int8(scale=0.03, zero_point=-9)), ("HARD_SWISH",)),
    "other steps": (function(Quantize(DType.I8), int8(scale=0.07, zero_point=5)), ("QUANTIZE",)),
    "some channels": (
        picked((1, 4, 6, 3), (24, 8), (3, 1), offset=4),
        ("RESHAPE", "SLICE", "RESHAPE"),
    ),
    "a window of rows and columns": (
        picked((1, 2, 3, 8), (2, 48), (24, 1), offset=48 + 16),
        ("RESHAPE", "SLICE", "RESHAPE"),
    ),
    "one channel of each pixel": (picked((1, 4, 6, 1), (24, 8), offset=7), ("RESHAPE", "SLICE", "RESHAPE")),
    "some channels as planes": (
        picked((1, 3, 4, 6), (3, 1), (24, 8), offset=2),
        ("RESHAPE", "SLICE", "TRANSPOSE", "RESHAPE"),
    ),
    "planes": (picked((1, 8, 4, 6), (8, 1), (24, 8)), ("RESHAPE", "TRANSPOSE", "RESHAPE")),
    "every second column": (
        picked((1, 4, 3, 8), (12, 16), (8, 1), offset=8),
        ("RESHAPE", "SLICE", "RESHAPE"),
    ),
    "every third element": (picked((1, 4, 4, 4), (64, 3)), ("RESHAPE", "SLICE", "RESHAPE")),
    "backwards": (picked((1, 4, 6, 8), (24, -8), (8, 1), offset=184), ("RESHAPE", "GATHER")),
    "repeated": (picked((2, 4, 6, 8), (2, 0), (192, 1)), ("RESHAPE", "GATHER")),
    "columns in another order, some beyond the end": (gathered(2, 5, 0, 0, 9, -3), ("GATHER",)),
}


@pytest.mark.parametrize("name", CASES)
def test_picks_are_the_same_in_litert_and_read_again(name):
    case, codes = CASES[name]
    data = write_model(case.graph, "picks.tflite")
    again = parse_model(data, "picks.tflite")
    assert tuple(origin.split(" ")[0] for origin in dict.fromkeys(n.origin for n in again.nodes)) == codes
    inputs = random_inputs(data, 3, seed=4)
    wanted = [run_graph(case.graph, {"x0": x})["y"] for x in inputs]
    assert np.array_equal(np.stack(wanted), run_litert(data, inputs))
    assert np.array_equal(np.stack(wanted), [run_graph(again, {"x0": x})["y"] for x in inputs])


def test_a_table_read_again_is_a_lookup():
    case, _ = CASES["any table"]
    graph = run_meaning(parse_model(write_model(case.graph, "picks.tflite"), "picks.tflite")).graph
    assert [type(node.op) for node in graph.nodes] == [Lookup]


def test_places_that_come_with_the_run_are_refused():
    case = op_case("given", Gather(1), [X, TensorType(DType.I32, (2,))], X)
    with pytest.raises(ModelError) as refusal:
        write_model(case.graph, "picks.tflite")
    assert refusal.value.where == 'picks.tflite\ngather "given": its indices are known only at run time'
