"""deploy quantize --io-type: a network with a softmax computes with integers from input to output."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from error_facts import require_facts
from onnx import TensorProto, helper, numpy_helper

from aot.frontend.input_overrides import InputOverrides
from aot.frontend.load import load_model
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.types import DType

Deploy = Callable[..., Any]
IMAGES = np.random.default_rng(3).normal(size=(16, 2, 8, 8)).astype(np.float32)
OVERRIDES = InputOverrides({"x": (1, 2, 8, 8)})


@pytest.fixture(autouse=True)
def _needs_onnxruntime(require_package: Callable[..., None]) -> None:
    require_package("onnxruntime")


def network(path: Path, last: str = "Softmax") -> Path:
    """Convolutions, a residual sum, pools, a classifier of three."""
    weights = {"w": (6, 2, 3, 3), "deep": (6, 1, 3, 3), "dense": (6, 3), "bias": (3,)}
    rng = np.random.default_rng(4)
    constants = {name: rng.normal(size=size).astype(np.float32) for name, size in weights.items()}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["conv"], pads=[1] * 4),
        helper.make_node("Relu", ["conv"], ["relu"]),
        helper.make_node("Conv", ["relu", "deep"], ["deeper"], group=6, pads=[1] * 4),
        helper.make_node("Add", ["deeper", "relu"], ["sum"]),
        helper.make_node("MaxPool", ["sum"], ["pool"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["pool"], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["flat"]),
        helper.make_node("Gemm", ["flat", "dense", "bias"], ["scores"]),
        helper.make_node(last, ["scores"], ["y"]),
    ]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("x", ("n", 2, 8, 8)), ("y", ("n", 3)))
    ]
    tensors = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


def quantised(folder: Path, suffix: str, io: str, run_deploy: Deploy) -> tuple[Path, dict[str, Any]]:
    np.savez(folder / "calib.npz", x=IMAGES)
    out = folder / f"{io}.{suffix}"
    words = ("--data", folder / "calib.npz", "-o", out, "--io-type", io, "--json")
    said = run_deploy("quantize", network(folder / "net.onnx"), *words)
    assert said.status == 0, said.err
    return out, json.loads(said.out)


def loaded(path: Path) -> Graph:
    return load_model(path, overrides=OVERRIDES) if path.suffix == ".onnx" else load_model(path)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["onnx", "tflite"])
def test_integer_ends_leave_no_float_and_give_the_same(
    suffix: str, tmp_path: Path, run_deploy: Deploy
) -> None:
    inside, facts = quantised(tmp_path, suffix, "int8", run_deploy)
    outside, _ = quantised(tmp_path, suffix, "float32", run_deploy)
    integers, reals = loaded(inside), loaded(outside)
    assert not [name for name, tensor in integers.types.items() if tensor.dtype is DType.F32]
    ((x, y), (z,)) = ([reals.inputs[0], integers.inputs[0]], integers.outputs)
    quant = integers.types[y].quant
    assert quant is not None
    assert integers.types[z].quant == reals.types[reals.nodes[-1].reads[0]].quant
    assert [(edge["name"], edge["zero_point"]) for edge in facts["edges"]][1] == ("y", -128)
    for image in IMAGES[:4, None]:
        stored = np.rint(image / np.float32(quant.scale)) + quant.zero_point
        (found,) = run_graph(integers, {y: stored.clip(-128, 127).astype(np.int8)}).values()
        (wanted,) = run_graph(reals, {x: image}).values()
        assert np.array_equal((found.astype(np.float32) + 128) / 256, wanted)


def test_a_logarithm_of_a_softmax_is_computed_with_integers(tmp_path: Path, run_deploy: Deploy) -> None:
    """In steps of a sixteenth; what is less than the largest by more than 16 is lost in them."""
    np.savez(tmp_path / "calib.npz", x=IMAGES)
    out = tmp_path / "a.tflite"
    words = ("--data", tmp_path / "calib.npz", "-o", out, "--io-type", "int8")
    said = run_deploy("quantize", network(tmp_path / "net.onnx", last="LogSoftmax"), *words)
    assert said.status == 0, said.err
    graph = load_model(out)
    assert {tensor.dtype for tensor in graph.types.values()} & {DType.F32} == set()
    last = graph.types[graph.outputs[0]].quant
    assert graph.nodes[-1].op.name == "log_softmax"
    assert (last is not None and last.scale, last is not None and last.zero_point) == (1 / 16, 127)


def test_an_end_in_floats_is_named(tmp_path: Path, run_deploy: Deploy) -> None:
    np.savez(tmp_path / "calib.npz", x=IMAGES)
    words = ("--data", tmp_path / "calib.npz", "-o", tmp_path / "a.onnx", "--io-type", "int8")
    said = run_deploy("quantize", network(tmp_path / "net.onnx", last="Softplus"), *words)
    assert said.status == 1
    require_facts(said.err, '"y" int8 Softplus output computed floats net.onnx --io float32')


@pytest.mark.arm
@pytest.mark.qemu
def test_a_board_computes_a_quantised_network_without_a_float(
    tmp_path: Path, run_deploy: Deploy, require_tool: Callable[..., None]
) -> None:
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
    out, _ = quantised(tmp_path, "tflite", "int8", run_deploy)
    said = run_deploy("verify", out, "--board", "mps2-an386", "--layers")
    assert said.status == 0, said.err
    assert "layers equal to the reference in every bit" in said.out
    archive = tmp_path / "net.tar"
    assert run_deploy("compile", out, "--board", "mps2-an386", "-o", archive).status == 0
    with tarfile.open(archive) as files:
        sources = [name for name in files.getnames() if "/src/" in name]
        texts = [files.extractfile(name).read().decode() for name in sources]  # type: ignore[union-attr]
    assert texts
    assert not [name for name, text in zip(sources, texts, strict=True) if "float" in text]
