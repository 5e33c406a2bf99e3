"""deploy quantize with states: samples follow each other, and states become int8 if their layers are."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx_files import onnx_file

import deploy
from aot.errors import DeployError
from aot.frontend.load import load_model
from aot.frontend.onnx.declared_states import declared_states
from aot.interpret import run_series
from aot.ir.types import Array, DType
from deploy.verification.oracles import onnx_session

STEPS = 200
Nodes = list[tuple[str, list[str], str, dict[str, Any]]]
Sizes = dict[str, list[int]]


@pytest.fixture(autouse=True)
def _needs_onnxruntime(require_package):
    require_package("onnxruntime")


def model_of(nodes: Nodes, inputs: Sizes, outputs: Sizes, constants: Mapping[str, Array]) -> onnx.ModelProto:
    made = [helper.make_node(op, of, [out], name=out, **more) for op, of, out, more in nodes]
    return onnx.load_from_string(onnx_file(made, inputs, outputs, constants))


def weights(*shape: int) -> Array:
    drawn = np.random.default_rng(shape[0]).normal(size=shape) / np.sqrt(np.prod(shape[1:]))
    return np.asarray(drawn, np.float32)


def convolutions() -> onnx.ModelProto:
    """Two causal convolutions, whose pasts are states: the first of inputs, the second of results."""
    nodes: Nodes = []
    x = "x"
    for layer in "ab":
        joined = f"joined_{layer}"
        nodes += [
            ("Concat", [f"past_{layer}", x], joined, {"axis": 2}),
            ("Slice", [joined, "one", "end", "axis"], f"present_{layer}", {}),
            ("Conv", [joined, f"w_{layer}"], f"sum_{layer}", {}),
            ("Relu", [f"sum_{layer}"], f"out_{layer}", {}),
        ]
        x = f"out_{layer}"
    pasts, presents = (
        {"past_a": [1, 4, 2], "past_b": [1, 8, 2]},
        {"present_a": [1, 4, 2], "present_b": [1, 8, 2]},
    )
    numbers = {"one": np.array([1]), "end": np.array([9]), "axis": np.array([2])}
    return model_of(
        nodes,
        {"x": [1, 4, 1], **pasts},
        {"out_b": [1, 5, 1], **presents},
        {"w_a": weights(8, 4, 3), "w_b": weights(5, 8, 3), **numbers},
    )


def gates() -> onnx.ModelProto:
    """A recurrent layer whose state goes through gates."""
    nodes: Nodes = [
        ("Concat", ["x", "h"], "both", {"axis": 1}),
        ("Gemm", ["both", "w_z"], "z_sum", {}),
        ("Sigmoid", ["z_sum"], "z", {}),
        ("Gemm", ["both", "w_n"], "n_sum", {}),
        ("Tanh", ["n_sum"], "n", {}),
        ("Sub", ["whole", "z"], "rest", {}),
        ("Mul", ["rest", "n"], "new", {}),
        ("Mul", ["z", "h"], "old", {}),
        ("Add", ["new", "old"], "hn", {}),
        ("Gemm", ["hn", "w_y"], "y", {}),
    ]
    constants = {
        "w_z": weights(20, 16),
        "w_n": 2 * weights(20, 16),
        "w_y": weights(16, 3),
        "whole": np.float32(1),
    }
    return model_of(nodes, {"x": [1, 4], "h": [1, 16]}, {"y": [1, 3], "hn": [1, 16]}, constants)


def layer_of_floats() -> onnx.ModelProto:
    """ONNX's GRU, which the quantizer leaves in floats."""
    constants = {
        "w": weights(48, 4)[None],
        "r": weights(48, 16)[None],
        "w_y": weights(16, 3),
        "axes": np.array([0]),
    }
    made = model_of(
        [
            ("GRU", ["x", "w", "r", "", "", "h"], "all", {"hidden_size": 16}),
            ("Squeeze", ["hn", "axes"], "row", {}),
            ("Gemm", ["row", "w_y"], "y", {}),
        ],
        {"x": [1, 1, 4], "h": [1, 1, 16]},
        {"y": [1, 3], "hn": [1, 1, 16]},
        constants,
    )
    made.graph.node[0].output.append("hn")
    return made


MODELS = {"convolutions": convolutions, "gates": gates, "layer_of_floats": layer_of_floats}


def series(model: onnx.ModelProto) -> Array:
    """Waves, with which a state reaches values that no single step from zero gives."""
    shape = [each.dim_value for each in model.graph.input[0].type.tensor_type.shape.dim]
    waves = np.sin(np.arange(STEPS)[:, None] / np.array([3, 5, 9, 17]))
    return waves.reshape(STEPS, *shape).astype(np.float32)


def written(folder: Path, model: onnx.ModelProto) -> Path:
    path = folder / "step.onnx"
    onnx.save(model, path)
    np.savez(folder / "x.npz", x=series(model))
    return path


def in_onnx_runtime(path: Path, xs: Array) -> list[Array]:
    """The model's own output for each step; the file declares its states."""
    pairs, firsts = declared_states(onnx.load(path), path.name)
    session = onnx_session(path.read_bytes())
    names = [each.name for each in session.get_outputs()]
    kept = {
        each.name: firsts.get(each.name, np.zeros(each.shape, np.float32))
        for each in session.get_inputs()
        if each.name in pairs
    }
    found = []
    for x in xs:
        made = dict(zip(names, session.run(None, {"x": x, **kept}), strict=True))
        kept = {name: made[becomes] for name, becomes in pairs.items()}
        found.append(made[names[0]])
    return found


@pytest.mark.cc
@pytest.mark.parametrize("name", MODELS)
def test_samples_follow_each_other_and_states_become_integers(name, tmp_path, run_deploy):
    model = MODELS[name]()
    path, small = written(tmp_path, model), tmp_path / "int8.onnx"
    said = run_deploy(
        "quantize", path, "--data", tmp_path / "x.npz", "--state", "auto", "-o", small, "--json"
    )
    assert said.status == 0, said.err
    facts = json.loads(said.out)
    stored = "float32" if name == "layer_of_floats" else "int8"
    assert set(facts["states"].values()) == {stored}
    assert facts["sequence_db"] > 25
    graph, xs = deploy.load(small).graph, series(model)
    assert {graph.types[each.name].dtype is DType.I8 for each in graph.states} == {stored == "int8"}
    wanted = [each[graph.outputs[0]] for each in run_series(graph, [{"x": x} for x in xs])]
    near = 1e-6 if stored == "int8" else 1e-5
    assert np.abs(np.subtract(wanted, in_onnx_runtime(small, xs))).max() <= near
    host = deploy.in_process(small)
    found = [host.run({"x": x})[graph.outputs[0]] for x in xs]
    assert np.abs(np.subtract(wanted, found)).max() <= near


def test_other_ends_may_be_integers_too_and_first_values_are_kept(tmp_path):
    model = gates()
    model.metadata_props.add(key="solder.state.h", value="hn")
    first = np.linspace(-0.5, 0.5, 16, dtype=np.float32).reshape(1, 16)
    model.graph.initializer.append(numpy_helper.from_array(first, "h/initial"))
    path, small = written(tmp_path, model), tmp_path / "int8.onnx"
    answer = deploy.quantize(path, {"x": series(model)}, small, io_type="int8")
    assert [each["name"] for each in answer["edges"]] == ["x", "y"]
    (state,) = load_model(small).states
    quant = load_model(small).types["h"].quant
    assert quant is not None
    real = (state.initial.astype(np.float32) - quant.zero_point) * np.float32(quant.scales[0])
    np.testing.assert_allclose(real, first, rtol=0, atol=0.51 * quant.scales[0])


@pytest.mark.parametrize(
    ("output", "more", "fault"),
    [
        ("int8.tflite", {"state": "h=hn"}, "a .tflite file cannot declare states"),
        ("int8.onnx", {"state": "h=y"}, 'the input "h" cannot become the output "y"'),
        ("int8.onnx", {}, r'input "h" is missing(.|\n)*are these inputs states. h=hn: --state auto'),
        ("int8.onnx", {"state": "none"}, r'input "h" is missing(.|\n)*the model needs "x"'),
        ("int8.onnx", {"state": "h=hn", "activation_type": "dynamic"}, "dynamic accepts"),
    ],
)
def test_states_that_cannot_be_kept_are_refused(output, more, fault, tmp_path):
    path = written(tmp_path, gates())
    data = None if "activation_type" in more else tmp_path / "x.npz"
    with pytest.raises(DeployError) as caught:
        deploy.quantize(path, data, tmp_path / output, **more)
    assert re.search(fault, str(caught.value))
    assert not (tmp_path / output).exists()
