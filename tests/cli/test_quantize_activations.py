"""deploy quantize --activation-type: values of 16 bits, of all layers or of those that lose most."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_checks import failures_on_host
from error_facts import require_facts
from model_checks import OPTIONS, PLAIN, model_check
from onnx import NodeProto, helper
from onnx_files import onnx_file

from aot.frontend.load import load_model
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.types import Array, DType
from aot.ops.activation import Activation
from deploy.quantization.model_outputs import decibels, noise_of
from deploy.verification.oracles import onnx_session

# Few of the numbers are far larger than the others, which eight bits take badly.
IMAGES = (np.random.default_rng(3).normal(size=(16, 2, 8, 8)) ** 5 / 30).astype(np.float32)
ASKED_DB = (30, 40, 46, 52, 60, 66)


def layer(op_type: str, made: str, *reads: str, **attributes: Any) -> NodeProto:
    return helper.make_node(op_type, reads, [made], **attributes)


def whole_weights(rng: np.random.Generator, size: tuple[int, ...]) -> Array:
    """Weights that eight bits hold as they are: the loss is that of activations."""
    integers = rng.integers(-127, 128, size)
    integers.reshape(size[0], -1)[:, 0] = 127
    return (integers / 64).astype(np.float32)


def network(path: Path, highest: float = 1) -> Path:
    """Layers whose limits eight bits have in their range, a residual sum, pools, a classifier of three."""
    sizes = {"w": (6, 2, 3, 3), "deep": (6, 1, 3, 3), "point": (4, 6, 1, 1), "dense": (3, 10)}
    rng = np.random.default_rng(4)
    constants = {name: whole_weights(rng, size) for name, size in sizes.items()}
    constants["bias"] = rng.normal(size=3).astype(np.float32)
    limits = {"zero": 0, "six": 6, "low": -1, "high": highest}
    constants |= {name: np.array(limit, np.float32) for name, limit in limits.items()}
    nodes = [
        layer("Conv", "conv", "x", "w", pads=[1] * 4),
        layer("Clip", "relu6", "conv", "zero", "six"),
        layer("Conv", "deeper", "relu6", "deep", group=6, pads=[1] * 4),
        layer("Add", "sum", "deeper", "relu6"),
        layer("Relu", "relu", "sum"),
        layer("Conv", "pointwise", "relu", "point"),
        layer("Clip", "limited", "pointwise", "low", "high"),
        layer("MaxPool", "most", "relu", kernel_shape=[2, 2], strides=[2, 2]),
        layer("AveragePool", "average", "limited", kernel_shape=[2, 2], strides=[2, 2]),
        layer("Concat", "both", "most", "average", axis=1),
        layer("GlobalAveragePool", "mean", "both"),
        layer("Flatten", "flat", "mean"),
        layer("Gemm", "y", "flat", "dense", "bias", transB=1),
    ]
    path.write_bytes(onnx_file(nodes, {"x": (1, 2, 8, 8)}, {"y": (1, 3)}, constants, opset=13))
    return path


@pytest.fixture
def quantize(tmp_path, run_deploy, require_package):
    """Quantises the network with options; the answer has the place of the model."""
    require_package("onnxruntime")
    np.savez(tmp_path / "c.npz", x=IMAGES)
    model = network(tmp_path / "net.onnx")

    def run(*options: str, name: str = "q.onnx") -> Any:
        return run_deploy("quantize", model, "--data", tmp_path / "c.npz", *options, "-o", tmp_path / name)

    return run


def outputs(path: Path) -> list[Array]:
    session = onnx_session(path.read_bytes())
    return [session.run(None, {"x": image[None]})[0] for image in IMAGES]


def result_of(graph: Graph, image: Array) -> Array:
    (result,) = run_graph(graph, {graph.inputs[0]: image}).values()
    return result


def types_of(graph: Graph) -> set[DType]:
    """The elements of every value that a layer makes."""
    return {graph.types[name].dtype for node in graph.nodes for name in node.outputs}


@pytest.mark.slow
def test_more_decibels_are_more_values_of_16_bits(quantize, tmp_path):
    """From none of them to all; the loss that is shown is that of the file."""
    wanted = outputs(tmp_path / "net.onnx")
    wide, reached = [], []
    options = [("mixed", "--signal-to-noise", str(each)) for each in ASKED_DB]
    for words in (*options, ("int16",)):
        said = quantize("--activation-type", *words, "--json")
        assert said.status == 0, said.err
        facts = json.loads(said.out)["widened"]
        assert 33 < facts["int8_db"] < 36
        wide.append([each["value"] for each in facts["activations"] if each["bits"] == 16])
        reached.append(facts["signal_to_noise_db"])
        assert abs(reached[-1] - decibels(noise_of(wanted, outputs(tmp_path / "q.onnx")))) < 0.05
        by_loss = sorted(facts["activations"], key=lambda each: each["signal_to_noise_db"])
        assert {each["value"] for each in by_loss[: len(wide[-1])]} == set(wide[-1])
    assert reached == sorted(reached)
    assert all(found >= asked for found, asked in zip(reached, ASKED_DB, strict=False))
    assert reached[0] == facts["int8_db"]
    assert reached[-1] > 70
    assert wide == [
        [],
        ["x"],
        ["x", "limited"],
        ["x", "deeper", "limited"],
        ["x", "deeper", "limited", "y"],
        ["x", "relu6", "deeper", "limited", "y"],
        ["x", "relu6", "deeper", "limited", "y"],
    ]


def test_limits_that_eight_bits_have_in_their_range_are_limits_of_16_bit_layers(quantize, tmp_path):
    assert quantize("--activation-type", "int16").status == 0
    graph = load_model(tmp_path / "q.onnx")
    layers = [node.op for node in graph.nodes if node.op.name in ("conv2d", "depthwise_conv2d", "add")]
    assert [getattr(op, "activation", None) for op in layers] == [
        Activation.RELU6,
        Activation.NONE,
        Activation.RELU,
        Activation.RELU_N1_TO_1,
    ]
    *_, last = graph.nodes
    assert types_of(graph.with_nodes(graph.nodes[:-1])) == {DType.I16}
    assert last.op.name == "dequantize"


def test_a_layer_of_other_limits_keeps_eight_bits_and_conversions_are_of_integers(quantize, tmp_path):
    network(tmp_path / "net.onnx", highest=4)
    said = quantize("--activation-type", "int16", "--io-type", "int8", "--json")
    assert said.status == 0, said.err
    values = json.loads(said.out)["widened"]["activations"]
    assert [each["value"] for each in values] == ["relu6", "deeper"]
    assert types_of(load_model(tmp_path / "q.onnx")) == {DType.I8, DType.I16}


@pytest.mark.slow
@pytest.mark.parametrize("options", [("int16",), ("mixed", "--signal-to-noise", "46")])
def test_both_formats_give_the_same_integers_near_those_of_onnx_runtime(options, quantize, tmp_path):
    names = ("q.onnx", "q.tflite")
    for name in names:
        assert quantize("--activation-type", *options, name=name).status == 0
    graphs = [load_model(tmp_path / name) for name in names]
    of_onnx, of_tflite = ([result_of(graph, image[None]) for image in IMAGES] for graph in graphs)
    assert np.array_equal(of_onnx, of_tflite)
    assert noise_of(outputs(tmp_path / "q.onnx"), of_onnx) < 1e-5


@pytest.mark.cc
@pytest.mark.parametrize("function", ["Sigmoid", "Tanh"])
def test_a_value_that_changes_its_width_is_as_in_onnx_runtime(tmp_path, run_deploy, function):
    """ONNX Runtime's optimizer would make one pair of the two between 16 and 8 bits, with other results."""
    rng = np.random.default_rng(4)
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["sums"]),
        helper.make_node(function, ["sums"], ["curve"]),
        helper.make_node("MatMul", ["curve", "v"], ["y"]),
    ]
    tensors = {name: rng.normal(size=shape) for name, shape in (("w", (6, 8)), ("b", (8,)), ("v", (8, 3)))}
    (tmp_path / "net.onnx").write_bytes(onnx_file(nodes, {"x": (1, 6)}, {"y": (1, 3)}, tensors, opset=13))
    np.savez(tmp_path / "c.npz", x=rng.normal(size=(40, 1, 6)).astype(np.float32))
    words = ("--data", tmp_path / "c.npz", "--activation-type", "int16", "-o", tmp_path / "q.onnx")
    assert run_deploy("quantize", tmp_path / "net.onnx", *words).status == 0
    said = run_deploy("verify", tmp_path / "q.onnx", "--board", "host", "--inputs", tmp_path / "c.npz")
    assert "returns the same outputs" in said.out, said.err


@pytest.mark.cc
@pytest.mark.qemu
def test_c_and_a_cortex_m4_give_the_integers_of_the_reference(quantize, run_deploy, tmp_path, require_tool):
    """In C with sanitizers, and in each layer of the board's."""
    require_tool("arm-none-eabi-gcc")
    network(tmp_path / "net.onnx", highest=4)
    assert quantize("--activation-type", "int16", "--io-type", "int8").status == 0
    graph = load_model(tmp_path / "q.onnx")
    rng = np.random.default_rng(8)
    images = [rng.integers(-128, 128, (1, 2, 8, 8)).astype(np.int8) for _ in range(2)]
    samples = [{graph.inputs[0]: image} for image in images]
    checks = [model_check("net", "net", graph, PLAIN, OPTIONS["speed"], samples)]
    assert failures_on_host(checks, tmp_path / "checks") == {}
    said = run_deploy("verify", tmp_path / "q.onnx", "--board", "mps2-an386", "--layers")
    assert "layers equal to the reference in every bit" in said.out, said.err


def test_the_page_says_the_bits_of_each_value(quantize):
    lines = quantize("--activation-type", "mixed", "--signal-to-noise", "40").out.splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("outputs, signal to noise"))
    assert lines[place] == "outputs, signal to noise: 34.4 dB with all in eight bits, now 45.5 dB so"
    assert [line.split()[:3] for line in lines[place - 5 : place]] == [
        ["x", "input", "16"],
        ["relu6", "Conv", "8"],
        ["deeper", "Conv", "8"],
        ["limited", "Conv", "8"],
        ["y", "Gemm", "8"],
    ]
    assert "in eight bits" not in quantize().out


def test_more_decibels_than_16_bits_give_are_reported(quantize):
    require_facts(
        quantize("--activation-type", "mixed", "--signal-to-noise", "90").err,
        "16 74.0 dB 90 activations bits keep --signal-to-noise 73 --refine",
    )


def test_mixed_activations_have_a_bound(quantize):
    require_facts(
        quantize("--activation-type", "mixed").err,
        "signal_to_noise mixed activations need --activation-type --signal-to-noise 40",
    )
