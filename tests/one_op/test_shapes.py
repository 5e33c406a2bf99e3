"""Shapes and types that hypothesis makes for each op: passes and loops keep the reference's bits."""

from collections.abc import Callable, Mapping
from importlib import import_module

import numpy as np
import pytest
from choices import Choices
from drawing import Draw
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from model_checks import OPTIONS, PLAIN
from one_op_models import MAKERS
from op_case import OpCase, random_values
from row_machine import run_lowered
from suite_batch import build_batch
from tflite_builder import ModelBuilder

from aot.errors import DeployError
from aot.frontend.load import parse_model
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.types import Array
from aot.ops import OPS, PLACES
from aot.ops.constraints import violations
from aot.passes.pipeline import run_meaning
from aot.target import Target
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job
from codegen.kernels.table import KERNELS
from codegen.lower.lower import lower_graph
from codegen.options import CompileOptions

EXAMPLES, IN_C = 25, 3
MOST_WORK = 1500  # of a case that the interpreter of loops runs, too

# The maker of a TFLite operator that becomes the op.
OPERATORS: Mapping[str, str] = {
    "add": "ADD",
    "arg_extreme": "ARG_MAX",
    "average_pool2d": "AVERAGE_POOL_2D",
    "batch_matmul": "BATCH_MATMUL",
    "clamp": "RELU",
    "combine": "MAXIMUM",
    "compare": "LESS",
    "concat": "CONCATENATION",
    "conv2d": "CONV_2D",
    "convert": "CAST",
    "cumulate": "CUMSUM",
    "dense": "FULLY_CONNECTED",
    "depthwise_conv2d": "DEPTHWISE_CONV_2D",
    "dequantize": "DEQUANTIZE",
    "div": "DIV",
    "gather": "GATHER",
    "gather_nd": "GATHER_ND",
    "hard_swish": "HARD_SWISH",
    "l2_norm": "L2_NORMALIZATION",
    "leaky_relu": "LEAKY_RELU",
    "log_softmax": "LOG_SOFTMAX",
    "logistic": "LOGISTIC",
    "max_pool2d": "MAX_POOL_2D",
    "mean": "MEAN",
    "mul": "MUL",
    "pad": "PAD",
    "prelu": "PRELU",
    "quantize": "QUANTIZE",
    "rearrange": "TRANSPOSE",
    "reduce": "REDUCE_MAX",
    "reshape": "RESHAPE",
    "resize": "RESIZE_BILINEAR",
    "select": "SELECT_V2",
    "softmax": "SOFTMAX",
    "squared_difference": "SQUARED_DIFFERENCE",
    "sub": "SUB",
    "tanh": "TANH",
    "unary_math": "ABS",
}

# The makers of the other ops, which stand beside their cases.
STEMS = sorted({place.partition(".")[0] for place in PLACES.values()})
SHAPES: Mapping[str, Callable[[Draw], OpCase]] = {
    name: maker
    for stem in STEMS
    for name, maker in getattr(import_module(f"{stem}_cases"), "SHAPES", {}).items()
}


def test_every_op_has_shapes_made_by_hypothesis():
    assert set(OPERATORS).isdisjoint(SHAPES)
    assert set(OPS) - {*OPERATORS, *SHAPES} == set()


@pytest.mark.slow
@pytest.mark.parametrize("op_name", sorted({*OPERATORS, *SHAPES}))
def test_an_op_keeps_its_bits_in_any_shape(op_name):
    check = settings(max_examples=EXAMPLES, derandomize=True, suppress_health_check=list(HealthCheck))
    check(given(st.data())(lambda data: _keeps_its_bits(op_name, data)))()


@pytest.mark.cc
@pytest.mark.slow
def test_an_op_keeps_its_bits_in_c(tmp_path):
    """One program of all: what is wrong is named, and shrinks in the test before."""
    graphs = {
        f"{op_name}_{n}": graph for op_name in sorted(KERNELS) for n, graph in enumerate(_drawn(op_name))
    }
    models = {
        name: compile_job(
            Job(ImportedModel(graph, name, "00" * 32, f"graph_{n}"), Target("host"), CompileOptions())
        )
        for n, (name, graph) in enumerate(graphs.items())
    }
    hosts = build_batch({model.name: model for model in models.values()}, tmp_path)
    wrong = []
    for name, graph in graphs.items():
        inputs = {
            value: random_values(np.random.default_rng(1), graph.types[value]) for value in graph.inputs
        }
        if not _are_equal(hosts[models[name].name].run(inputs), run_graph(graph, inputs)):
            wrong.append(name)
    assert wrong == []


def _drawn(op_name: str) -> list[Graph]:
    graphs: list[Graph] = []
    draw = settings(max_examples=IN_C, derandomize=True, suppress_health_check=list(HealthCheck))
    draw(given(st.data())(lambda data: graphs.append(_graph(op_name, data))))()
    return graphs


def _keeps_its_bits(op_name: str, data: st.DataObject) -> None:
    graph = _graph(op_name, data)
    rng = np.random.default_rng(data.draw(st.integers(0, 255)))
    inputs = {name: random_values(rng, graph.types[name]) for name in graph.inputs}
    wanted, passed = run_graph(graph, inputs), run_meaning(graph).graph
    assert _are_equal(run_graph(passed, inputs), wanted)
    if op_name != "reshape" and _work(graph) <= MOST_WORK:
        made = run_lowered(lower_graph(passed, PLAIN, OPTIONS["speed"]), inputs)
        assert _are_equal({name: values.reshape(wanted[name].shape) for name, values in made.items()}, wanted)


def _graph(op_name: str, data: st.DataObject) -> Graph:
    draw = Draw(Choices(data.draw), ModelBuilder(op_name))  # type: ignore[arg-type]
    if op_name in SHAPES:
        graph = SHAPES[op_name](draw).graph
        (node,) = graph.nodes
        if violations(node.op, graph.input_types(node), graph.output_types(node)):
            reject()
        return graph
    try:
        return parse_model(MAKERS[OPERATORS[op_name]](draw), f"{op_name}.tflite", "tflm")
    except DeployError:
        reject()


def _work(graph: Graph) -> int:
    costs = [node.op.cost(graph.input_types(node), graph.output_types(node)) for node in graph.nodes]
    return sum(cost.macs + 10 * cost.elementwise for cost in costs)


def _are_equal(made: Mapping[str, Array], wanted: Mapping[str, Array]) -> bool:
    """Integers in every bit, floats to their last digits."""
    pairs = [(made[name], wanted[name]) for name in wanted]
    return all(
        np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)
        if b.dtype.kind == "f"
        else np.array_equal(a, b)
        for a, b in pairs
    )
