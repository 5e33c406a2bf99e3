"""Places and branches that only the run knows: each is compared, both are computed."""

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx_files import info, onnx_file
from onnx_oracle import run_onnx

from aot.errors import ModelError
from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph
from aot.target import Target
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job
from codegen.options import CompileOptions

Info = helper.ValueInfoProto
MAKE = helper.make_node
RNG = np.random.default_rng(1)


def places(name: str, *sizes: int) -> Info:  # type: ignore[valid-type]
    return info(name, *sizes, element=TensorProto.INT64)


def file_of(node: helper.NodeProto, inputs: list[Info]) -> bytes:  # type: ignore[valid-type]
    return onnx_file([node], inputs, opset=18)


X, UPDATES = info("x", 3, 5), info("u", 2, 4)
ELEMENTS = [X, places("i", 2, 4), UPDATES]
REDUCED = [X, places("i", 2, 1), info("u", 2, 5)]
CACHE = [info("x", 1, 2, 8, 4), places("i", 1, 2, 1, 4), info("u", 1, 2, 1, 4)]
SCATTERS: dict[str, tuple[str, list[Info], dict[str, Any]]] = {  # type: ignore[valid-type]
    "elements of rows": ("ScatterElements", ELEMENTS, {"axis": 0}),
    "elements of columns": ("ScatterElements", ELEMENTS, {"axis": -1}),
    "a row of a cache": ("ScatterElements", CACHE, {"axis": 2}),
    "rows": ("ScatterND", REDUCED, {}),
    "single elements": ("ScatterND", [X, places("i", 4, 2), info("u", 4)], {}),
    "pairs in a cube": ("ScatterND", [info("x", 3, 3, 2), places("i", 2, 2, 2), info("u", 2, 2, 2)], {}),
    **{f"{r} of elements": ("ScatterElements", ELEMENTS, {"reduction": r}) for r in ("add", "mul", "max")},
    **{f"{r} of rows": ("ScatterND", REDUCED, {"reduction": r}) for r in ("add", "mul", "min")},
}


def given(inputs: list[Info]) -> dict[str, np.ndarray]:  # type: ignore[valid-type]
    """Places from both ends; some occur twice."""
    values = {}
    for one in inputs:
        sizes = [d.dim_value for d in one.type.tensor_type.shape.dim]  # type: ignore[attr-defined]
        is_places = one.type.tensor_type.elem_type == TensorProto.INT64  # type: ignore[attr-defined]
        values[one.name] = (  # type: ignore[attr-defined]
            RNG.integers(-2, 2, sizes) if is_places else RNG.normal(size=sizes).astype(np.float32)
        )
    return values


@pytest.mark.parametrize("name", SCATTERS)
def test_elements_lie_where_onnx_runtime_puts_them(name):
    operator, inputs, attributes = SCATTERS[name]
    data = file_of(MAKE(operator, ["x", "i", "u"], ["y"], **attributes), inputs)
    graph = read_onnx(data, "net.onnx")
    for _ in range(4):
        values = given(inputs)
        np.testing.assert_array_equal(run_graph(graph, values)["y"], run_onnx(data, values)[0])


@pytest.mark.parametrize("columns", [3, 4])
def test_rows_of_wide_integers_have_no_gaps(columns):
    inputs = [info("x", 3, columns), places("i", 2, columns), info("u", 2, columns)]
    graph = read_onnx(file_of(MAKE("ScatterElements", ["x", "i", "u"], ["y"]), inputs), "net.onnx")
    model = compile_job(Job(ImportedModel(graph, "net", "00" * 32, "net"), Target("host"), CompileOptions()))
    assert "int64_t" in model.sources["net.c"]
    assert "fill_64" not in model.sources["net.c"]


def test_more_updates_than_are_compared_must_be_known():
    node = MAKE("ScatterND", ["x", "i", "u"], ["y"], reduction="add")
    with pytest.raises(ModelError) as caught:
        read_onnx(file_of(node, [info("x", 99, 2), places("i", 65, 1), info("u", 65, 2)]), "net.onnx")
    assert caught.value.what.startswith("its indices of 65 updates (up to 64 may be computed by the model)")
    assert caught.value.hint.endswith("--value i=...")


def branch(name: str, shape: tuple[int, ...], *operators: str) -> helper.GraphProto:
    names = ["x", *(f"{name}{number}" for number, _ in enumerate(operators))]
    nodes = [MAKE(op, [names[n]], [names[n + 1]]) for n, op in enumerate(operators)]
    return helper.make_graph(nodes, name, [], [info(names[-1], *shape)])


def choice(then: helper.GraphProto, other: helper.GraphProto) -> bytes:
    node = MAKE("If", ["yes"], ["y"], then_branch=then, else_branch=other)
    return file_of(node, [info("x", 1, 4), info("yes", 1, element=TensorProto.BOOL)])


@pytest.mark.parametrize("yes", [True, False])
def test_the_run_chooses_a_branch(yes):
    data = choice(branch("t", (1, 4), "Relu"), branch("e", (1, 4), "Abs", "Neg"))
    x = np.array([[-1, 2, -3, 4]], np.float32)
    made = run_graph(read_onnx(data, "net.onnx"), {"x": x, "yes": np.array([yes])})["y"]
    assert made.tolist() == (np.maximum(x, 0) if yes else -np.abs(x)).tolist()


def test_branches_of_two_shapes_are_chosen_when_the_model_is_compiled():
    data = choice(branch("t", (1, 4), "Relu"), branch("e", (2,), "Shape"))
    with pytest.raises(ModelError) as caught:
        read_onnx(data, "net.onnx")
    assert caught.value.what == (
        'its condition between results of shapes [[1, 4]] and [[2]] "yes" '
        "must be known when the model is compiled"
    )
    assert caught.value.hint == "fix it: --value yes=..."
