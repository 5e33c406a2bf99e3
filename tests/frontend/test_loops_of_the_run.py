"""Loops that the run ends before their last turn, and scans of batches, give what ONNX Runtime gives."""

import numpy as np
import pytest
from onnx import GraphProto, ModelProto, TensorProto, helper
from onnx_oracle import run_onnx

from aot.errors import ModelError
from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph

MAKE = helper.make_node
LIMIT = helper.make_tensor("limit", TensorProto.FLOAT, [], [20.0])
TWO = helper.make_tensor("two", TensorProto.FLOAT, [], [2.0])


def info(name: str, element: int, *sizes: int) -> helper.ValueInfoProto:
    return helper.make_tensor_value_info(name, element, sizes)


def doubling(stacks: bool) -> GraphProto:
    """Doubles a line until its sum is above 20."""
    nodes = [
        MAKE("Mul", ["before", "two"], ["after"]),
        MAKE("ReduceSum", ["after"], ["sum"], keepdims=0),
        MAKE("Less", ["sum", "limit"], ["goes_on"]),
        MAKE("Identity", ["after"], ["each"]),
    ]
    given = [
        info("turn", TensorProto.INT64),
        info("on", TensorProto.BOOL),
        info("before", TensorProto.FLOAT, 3),
    ]
    made = [info("goes_on", TensorProto.BOOL), info("after", TensorProto.FLOAT, 3)]
    more = [info("each", TensorProto.FLOAT, 3)] if stacks else []
    return helper.make_graph(nodes[: 3 + stacks], "body", given, made + more, [LIMIT, TWO])


def file_of(model: GraphProto, version: int) -> bytes:
    made: ModelProto = helper.make_model(
        model, opset_imports=[helper.make_opsetid("", version)], ir_version=8
    )
    data: bytes = made.SerializeToString()
    return data


def loop(turns: int | None, stacks: bool = False) -> bytes:
    names = ["turns" if turns is not None else "", "", "x"]
    outputs = ["y", "all"][: 1 + stacks]
    node = MAKE("Loop", names, outputs, body=doubling(stacks))
    constants = [helper.make_tensor("turns", TensorProto.INT64, [], [turns])] if turns is not None else []
    made = [info("y", TensorProto.FLOAT, 3), helper.make_empty_tensor_value_info("all")][: 1 + stacks]
    return file_of(helper.make_graph([node], "net", [info("x", TensorProto.FLOAT, 3)], made, constants), 13)


@pytest.mark.parametrize("x", [[1, 2, 3], [0, 0, 0.1], [9, 9, 9], [0, 0, 0]])
def test_a_loop_ends_where_the_run_says(x):
    inputs = {"x": np.array(x, np.float32)}
    made = run_graph(read_onnx(loop(6), "net.onnx"), inputs)["y"]
    assert made.tolist() == run_onnx(loop(6), inputs)[0].tolist()


@pytest.mark.parametrize("data", [loop(None), loop(6, stacks=True)], ids=["no last turn", "a stack of turns"])
def test_a_loop_of_unknown_length_is_refused(data):
    with pytest.raises(ModelError) as caught:
        read_onnx(data, "net.onnx")
    assert caught.value.what.endswith("must be known when the model is compiled")


def batches_scanned(count: int = 1) -> tuple[bytes, dict[str, tuple[int, ...]]]:
    nodes = [MAKE("Add", ["sum", "next"], ["total"]), MAKE("Identity", ["total"], ["each"])]
    line = [info(name, TensorProto.FLOAT, 2) for name in ("sum", "next", "total", "each")]
    body = helper.make_graph(nodes, "body", line[:2], line[2:])
    node = MAKE("Scan", ["", "start", "x"], ["y", "z"], num_scan_inputs=count, directions=[1], body=body)
    sizes = {"start": (2, 2), "x": (2, 4, 2), "y": (2, 2), "z": (2, 4, 2)}
    ends = [info(name, TensorProto.FLOAT, *size) for name, size in sizes.items()]
    return file_of(helper.make_graph([node], "net", ends[:2], ends[2:]), 8), sizes


def test_a_scan_of_batches_scans_each():
    data, sizes = batches_scanned()
    rng = np.random.default_rng(2)
    inputs = {name: rng.normal(size=sizes[name]).astype(np.float32) for name in ("start", "x")}
    made = run_graph(read_onnx(data, "net.onnx"), inputs)
    for mine, wanted in zip(made.values(), run_onnx(data, inputs), strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-6)  # type: ignore[arg-type]


def test_a_scan_over_more_inputs_than_there_are_is_refused():
    """Before anything of that size is made."""
    data, _ = batches_scanned(1 << 40)
    with pytest.raises(ModelError) as caught:
        read_onnx(data, "net.onnx")
    assert caught.value.what == "a scan over 1099511627776 of 3 inputs is not supported"
