"""--state input=output: the value stays in the arena, and begins at zero."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import deploy
from aot.errors import ModelError
from aot.frontend.load import parse_model
from aot.frontend.onnx.declared_states import with_declared_states
from aot.frontend.paired_states import open_question, usual_pairs, with_states
from aot.ir.graph import Graph, Node
from aot.ir.types import DType, TensorType
from aot.ops.unary import Tanh

RUNS, WIDTH = 40, 6


def network() -> bytes:
    """A recurrent cell and a cache that moves on by a column: h becomes hn, past_0 becomes present_0."""
    rng = np.random.default_rng(3)
    weights = {n: rng.standard_normal((WIDTH, WIDTH)).astype(np.float32) / 3 for n in ("wx", "wh")}
    tables: Mapping[str, Any] = {
        **weights,
        "from": np.array([1], np.int64),
        "to": np.array([9], np.int64),
        "axis": np.array([2], np.int64),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "wx"], ["a"]),
        helper.make_node("MatMul", ["h", "wh"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["c"]),
        helper.make_node("Tanh", ["c"], ["hn"]),
        helper.make_node("Unsqueeze", ["hn", "axis"], ["column"]),
        helper.make_node("Slice", ["past_0", "from", "to", "axis"], ["later"]),
        helper.make_node("Concat", ["later", "column"], ["present_0"], axis=2),
        helper.make_node("ReduceSum", ["present_0", "axis"], ["y"], keepdims=0),
    ]
    value = helper.make_tensor_value_info
    sizes = {"x": [1, WIDTH], "h": [1, WIDTH], "past_0": [1, WIDTH, 5]}
    results = {"y": [1, WIDTH], "hn": [1, WIDTH], "present_0": [1, WIDTH, 5]}
    ends = [[value(n, 1, s) for n, s in each.items()] for each in (sizes, results)]
    constants = [numpy_helper.from_array(array, name) for name, array in tables.items()]
    graph = helper.make_graph(nodes, "cell", *ends, constants)
    return bytes(
        helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
        ).SerializeToString()
    )


STATES = {"h": "hn", "past_0": "present_0"}


def samples() -> Any:
    return np.random.default_rng(8).standard_normal((RUNS, 1, WIDTH)).astype(np.float32) + 2


FIRST = {"h": np.full((1, WIDTH), 0.5, np.float32), "past_0": np.zeros((1, WIDTH, 5), np.float32)}


def wanted(h: float = 0) -> Any:
    model = ReferenceEvaluator(helper.ModelProto.FromString(network()))
    kept = {"h": np.full((1, WIDTH), h, np.float32), "past_0": FIRST["past_0"]}
    found = []
    for x in samples():
        y, kept["h"], kept["past_0"] = model.run(None, {"x": x, **kept})
        found.append(y)
    return np.stack(found)


@pytest.mark.cc
def test_states_go_on_from_run_to_run(tmp_path):
    file = tmp_path / "cell.onnx"
    file.write_bytes(network())
    compiled = deploy.compile(file, "host", state=STATES)
    assert [each.name for each in compiled.artifact.facts.inputs] == ["x"]
    assert [each.name for each in compiled.artifact.facts.outputs] == ["y"]
    made: Any = deploy.run(file, {"x": samples()}, "host", state=STATES).outputs["y"]
    np.testing.assert_allclose(made.reshape(RUNS, WIDTH), wanted()[:, 0], rtol=2e-5, atol=2e-5)


@pytest.mark.cc
def test_onnx_runtime_gets_each_state_that_it_gave(tmp_path, require_package):
    require_package("onnxruntime")
    file = tmp_path / "cell.onnx"
    file.write_bytes(network())
    assert deploy.verify(file, "host", inputs={"x": samples()}, oracle="ort", state="auto").equal


@pytest.mark.cc
def test_a_model_with_states_is_verified_over_a_sequence(tmp_path):
    file = tmp_path / "cell.onnx"
    file.write_bytes(network())
    assert "32 samples" in str(deploy.verify(file, "host", oracle="none", state="auto"))
    assert "3 samples" in str(deploy.verify(file, "host", oracle="none"))


@pytest.mark.cc
def test_a_file_declares_its_states_and_their_first_values(tmp_path):
    file = tmp_path / "cell.onnx"
    file.write_bytes(with_declared_states(network(), FIRST))
    onnx.checker.check_model(onnx.load(file))
    host = deploy.in_process(file)
    for _ in range(2):
        host.reset()
        made: Any = np.stack([host.run({"x": x})["y"] for x in samples()])
        np.testing.assert_allclose(made, wanted(h=0.5), rtol=2e-5, atol=2e-5)
    graph = parse_model(file.read_bytes(), file.name)
    assert {state.name: state.next for state in graph.states} == STATES
    assert with_states(graph, {"auto": ""}) is graph
    assert open_question(graph, {}) == ""


@pytest.mark.parametrize(
    ("first", "what"),
    [
        ({"hh": FIRST["h"], "past_0": FIRST["past_0"]}, 'no input "hh"'),
        ({"h": FIRST["past_0"] + 1, "past_0": FIRST["past_0"]}, r"float32\[1, 6, 5\]"),
        ({"h": FIRST["h"].astype(np.int8) + 1, "past_0": FIRST["past_0"]}, r"value int8\[1, 6\]"),
    ],
)
def test_states_that_a_file_declares_wrongly_are_refused(first, what):
    with pytest.raises(ModelError, match=what):
        parse_model(with_declared_states(network(), first), "cell.onnx")


def test_pairs_with_usual_names_are_suggested_and_not_taken():
    graph = parse_model(network(), "cell.onnx")
    assert dict(usual_pairs(graph)) == STATES
    assert len(graph.states) == 0


def test_auto_takes_all_pairs_with_usual_names_and_pairs_beside_it():
    graph = parse_model(network(), "cell.onnx")
    for pairs in ({"auto": ""}, {"auto": "", "h": "hn"}):
        assert {state.name: state.next for state in with_states(graph, pairs).states} == STATES
    assert with_states(graph, {"none": ""}).states == ()


def test_inputs_with_usual_names_are_a_question_until_it_is_answered():
    graph = parse_model(network(), "cell.onnx")
    question = open_question(graph, {})
    assert "h=hn, past_0=present_0" in question
    assert "--state auto" in question
    assert "--state none" in question
    assert open_question(graph, {"none": ""}) == open_question(graph, {"h": "hn"}) == ""
    assert open_question(with_states(graph, {"auto": ""}), {}) == ""


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("state", "stateN"), True),
        (("past_key_values.0.key", "present.0.key"), True),
        (("conv_cache", "conv_cache_out"), True),
        (("cache_k", "new_cache_k"), True),
        (("in_state", "out_state"), True),
        (("x", "y"), False),
    ],
)
def test_usual_names_of_exporters_are_known(names, expected):
    kind = TensorType(DType.F32, (1, 2))
    name, becomes = names
    node = Node("n", Tanh(), (name,), (becomes,))
    graph = Graph("g", (name,), (becomes,), (node,), {name: kind, becomes: kind})
    assert dict(usual_pairs(graph)) == ({name: becomes} if expected else {})


@pytest.mark.parametrize(
    ("pairs", "what", "hint"),
    [
        ({"hh": "hn"}, 'no input "hh"', "--state h=hn"),
        ({"h": "y2"}, 'no output "y2"', "--state past_0=present_0"),
        ({"h": "present_0"}, r'"h" cannot become the output "present_0"', "--state h=hn"),
        ({"h": "hn", "x": "hn"}, "several states become the same output", "its own output"),
        ({"h": "hn", "past_0": "present_0", "x": "y"}, "no input is left", "leave an input out"),
        ({"auto": "", "x": "y"}, "no input is left", "leave an input out"),
    ],
)
def test_pairs_that_cannot_be_states_are_refused(pairs, what, hint):
    with pytest.raises(ModelError, match=what) as error:
        with_states(parse_model(network(), "cell.onnx"), pairs)
    assert hint in error.value.hint
