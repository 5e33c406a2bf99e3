"""Float graphs written as ONNX files compute the same in ONNX Runtime; what cannot be written is named."""

import numpy as np
import pytest
from error_facts import require_facts
from graphs import Draft
from op_case import Weights, float32
from test_references import CASES

from aot.errors import ModelError
from aot.frontend.onnx.write import WRITERS, write_onnx
from aot.interpret import run_graph
from aot.ir.graph import Graph, Node, State
from aot.ir.types import DType, TensorType
from aot.ops.activation import Activation
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.binary import Add, Mul
from aot.ops.concat import Concat
from aot.ops.conv2d import Conv2d
from aot.ops.mean import Mean
from aot.ops.rearrange import Rearrange
from aot.ops.unary import Clamp, HardSwish, Logistic, Tanh

FLOAT = {
    name: case
    for name, case in CASES.items()
    if case.node.op.name in WRITERS and all(t.dtype is DType.F32 for t in case.graph.types.values())
}
REFUSED = {
    *("combine_atan2_f32", "combine_floor_div_f32", "combine_floor_mod_f32", "combine_remainder_f32"),
    *("unary_math_gelu", "unary_math_gelu_by_tanh"),
}
IN_NETS = {"hard_swish", "logistic", "mean", "tanh"}  # ops without a float case


def require_same(graph):
    """Requires that ONNX Runtime returns what the reference does, up to the order of sums."""
    import onnxruntime

    session = onnxruntime.InferenceSession(write_onnx(graph, "model"), providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(1)
    least = 1.1 if any(node.name == "unary_math_acosh" for node in graph.nodes) else 0.1
    inputs = {
        name: rng.uniform(least, least + 0.85, graph.types[name].shape).astype(np.float32)
        for name in graph.inputs
    }
    ours = run_graph(graph, inputs)
    for name, theirs in zip(graph.outputs, session.run(None, inputs), strict=True):
        assert theirs.shape == ours[name].shape
        np.testing.assert_allclose(theirs, ours[name].astype(np.float32), rtol=1e-4, atol=1e-5)


def net(form):
    """Images and vectors mixed, as a value may be needed in both orders."""
    d, rng = Draft(), np.random.default_rng(2)

    def made(name, op, *reads, weights=()):
        arrays = [Weights(float32(*each), rng.normal(size=each).astype(np.float32)) for each in weights]
        return d.node(name, op, *reads, quant=float32(), weights=arrays)

    x = d.input("x", 1, 6, 5, 3)
    d.types[x] = float32(1, 6, 5, 3)
    conv = Conv2d((1, 1), (1, 1), ((1, 1), (1, 1)), Activation.RELU6)
    y = made("conv", conv, x, weights=[(4, 3, 3, 3), (4,)])
    if form == "elements":
        y = made("bias", Add(), y, weights=[(4,)])
        y = made("gate", Logistic(), y)
        y = made("swish", HardSwish(), y)
        y = made("clamp", Clamp(Activation.RELU_N1_TO_1), y)
        y = made("tanh", Tanh(), y)
    elif form == "both orders":
        turned = made("turned", Rearrange((1, 4, 5, 6), (1, 4, 5, 6), (120, 1, 4, 20)), y)
        twice = made("sum", Add(), y, y)
        return d.graph(turned, twice, y)
    elif form == "attention of channels":
        squeezed = made("mean", Mean(), y)
        gate = made("gate", Logistic(), squeezed)
        y = made("scaled", Mul(), y, gate)
    elif form == "joined":
        other = made("pool", AveragePool2d((3, 3), (1, 1), ((1, 1), (1, 1))), y)
        y = made("joined", Concat(3), y, other)
        y = made("rows", Mean((1,)), y)
    return d.graph(y)


def test_every_writer_is_tried():
    assert {case.node.op.name for case in FLOAT.values()} | IN_NETS == set(WRITERS)


@pytest.mark.parametrize("name", sorted(FLOAT.keys() - REFUSED))
def test_an_op_is_the_same_in_onnx_runtime(name, require_package):
    require_package("onnxruntime")
    require_same(FLOAT[name].graph)


@pytest.mark.parametrize("form", ["plain", "elements", "both orders", "attention of channels", "joined"])
def test_a_net_is_the_same_in_onnx_runtime(form, require_package):
    require_package("onnxruntime")
    require_same(net(form))


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_function_that_onnx_lacks_is_named(name):
    with pytest.raises(ModelError, match=f'"{name}": '):
        write_onnx(FLOAT[name].graph, "model")


def test_what_cannot_be_written_is_named():
    d = Draft()
    y = d.conv("conv", d.input("x", 1, 6, 5, 3), 4)
    with pytest.raises(ModelError) as caught:
        write_onnx(d.graph(y), "net.tflite")
    require_facts(caught.value, 'the model is already quantized "x" net.tflite compile')
    with pytest.raises(ModelError) as caught:
        write_onnx(CASES["gather_columns"].graph, "net.tflite")
    require_facts(caught.value, 'ONNX net.tflite gather "gather_columns" converter')


def test_states_and_elements_that_cannot_be_written_are_named():
    types = {"x": float32(1, 4), "h": float32(1, 4), "y": float32(1, 4), "n": TensorType(DType.I16, (2,))}
    state = State("h", "y", np.zeros((1, 4), np.float32))
    node = Node("sum", Add(), ("x", "h"), ("y",))
    with pytest.raises(ModelError) as caught:
        write_onnx(Graph("net", ("x", "n"), ("y",), (node,), types, {}, (state,)), "net.tflite")
    require_facts(caught.value, 'net.tflite states "n" elements i16')
