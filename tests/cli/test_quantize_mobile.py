"""deploy quantize of what mobile networks are made of: as TFLite and as ONNX the same layers and integers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import NodeProto, helper
from onnx_files import onnx_file

from aot.frontend.declared import InputOverrides
from aot.frontend.load import load_model
from aot.interpret import run_graph
from aot.ir.graph import Node
from aot.passes.pipeline import run_meaning

RNG = np.random.default_rng(8)
IMAGES = RNG.normal(size=(24, 4, 6, 6)).astype(np.float32)
WEIGHTS = {"w1": (8, 4, 1, 1), "w2": (8, 1, 3, 3), "w3": (4, 8, 1, 1), "w4": (8, 4, 1, 1), "w5": (5, 8)}


def layer(op_type: str, made: str, *reads: str, **attributes: Any) -> NodeProto:
    return helper.make_node(op_type, list(reads), [made], **attributes)


def network(path: Path) -> Path:
    """Hard swish, squeeze and excite, a half of the channels shuffled with the other, x * sigmoid(x)."""
    halves = helper.make_node("Split", ["excited"], ["first", "second"], axis=1)
    nodes = [
        layer("Conv", "wide", "x", "w1"),
        layer("HardSwish", "bent", "wide"),
        layer("Conv", "deep", "bent", "w2", group=8, pads=[1] * 4),
        layer("ReduceMean", "mean", "deep", axes=[2, 3]),
        layer("Conv", "squeezed", "mean", "w3"),
        layer("Relu", "positive", "squeezed"),
        layer("Conv", "gate", "positive", "w4"),
        layer("HardSigmoid", "share", "gate", alpha=1 / 6),
        layer("Mul", "excited", "share", "deep"),
        halves,
        layer("Conv", "more", "second", "w6"),
        layer("Concat", "both", "first", "more", axis=1),
        layer("Reshape", "groups", "both", "split"),
        layer("Transpose", "shuffled", "groups", perm=[0, 2, 1, 3, 4]),
        layer("Reshape", "image", "shuffled", "whole"),
        layer("Sigmoid", "gates", "image"),
        layer("Mul", "silu", "image", "gates"),
        layer("GlobalAveragePool", "pooled", "silu"),
        layer("Flatten", "flat", "pooled"),
        layer("Gemm", "y", "flat", "w5", transB=1),
    ]
    sizes = {**WEIGHTS, "w6": (4, 4, 1, 1)}
    constants: dict[str, object] = {n: RNG.normal(size=s) for n, s in sizes.items()}
    constants |= {"split": np.array([1, 2, 4, 6, 6]), "whole": np.array([1, 8, 6, 6])}
    path.write_bytes(onnx_file(nodes, {"x": (1, 4, 6, 6)}, {"y": (1, 5)}, constants, opset=14))
    return path


def kind_of(node: Node) -> str:
    """Other steps are a table in the one format and an operator in the other; views are nothing."""
    return {"quantize": "lookup", "reshape": ""}.get(node.op.name, node.op.name)


@pytest.mark.slow
def test_both_formats_are_the_same_layers_and_give_the_same_integers(tmp_path, run_deploy, require_package):
    require_package("onnxruntime")
    np.savez(tmp_path / "calib.npz", x=IMAGES)
    net, graphs = network(tmp_path / "net.onnx"), []
    for suffix in ("tflite", "onnx"):
        out = tmp_path / f"int8.{suffix}"
        words = ("--data", tmp_path / "calib.npz", "-o", out, "--io-type", "int8")
        said = run_deploy("quantize", net, *words)
        assert said.status == 0, said.err
        graphs.append(load_model(out, overrides=InputOverrides({})))
    layers = [[kind_of(node) for node in run_meaning(graph).graph.nodes] for graph in graphs]
    assert sorted(filter(None, layers[0])) == sorted(filter(None, layers[1]))
    assert {"convert", "gather", "dequantize"} & set(layers[0]) == set()
    for seed in range(4):
        x = np.random.default_rng(seed).integers(-128, 128, (1, 4, 6, 6)).astype(np.int8)
        made = [run_graph(graph, {graph.inputs[0]: x})[graph.outputs[0]] for graph in graphs]
        assert np.array_equal(*made)  # type: ignore[arg-type]
