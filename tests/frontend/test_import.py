"""TFLite operators become the canonical ops, with explicit padding and static shapes."""

from typing import Any

import numpy as np
import pytest
import tflite
from tflite_builder import ModelBuilder
from tiny_models import TINY, random_weights

from aot.frontend.tflite.read import read_tflite
from aot.ir.graph import Graph
from aot.ir.types import DType, Quant, TensorType
from aot.ir.verify import verify
from aot.ops.activation import Activation
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.max_pool2d import MaxPool2d
from aot.ops.op import Op
from aot.ops.reshape import Reshape
from aot.ops.rounding import RequantRounding


def read(data: bytes, mode: str = "tflm") -> Graph:
    graph = read_tflite(data, "net.tflite", mode)
    verify(graph)
    return graph


def ops(name: str, mode: str = "tflm") -> list[Op]:
    return [node.op for node in read(TINY[name](), mode).nodes]


@pytest.mark.parametrize("name", sorted(TINY.keys() - {"padded"}))
def test_every_tiny_model_keeps_the_rules(name):
    assert read(TINY[name]()).name == "net"


def test_same_padding_becomes_explicit():
    assert ops("conv") == [Conv2d(padding=((1, 1), (1, 1)), activation=Activation.RELU)]


def test_valid_padding_is_none():
    assert ops("conv_valid_stride2") == [Conv2d(stride=(2, 2), activation=Activation.RELU)]


def test_depthwise_weights_lose_their_first_dimension():
    graph = read(TINY["depth_multiplier"]())
    (node,) = graph.nodes
    assert node.op == DepthwiseConv2d(stride=(2, 2), padding=((2, 2), (1, 1)), multiplier=6)
    weights = graph.types[node.reads[1]]
    assert weights.shape == (5, 4, 6)
    assert weights.quant is not None
    assert weights.quant.axis == 2


def test_pools():
    assert ops("pools") == [
        MaxPool2d((3, 3), (2, 2), ((1, 1), (1, 1))),
        AveragePool2d((2, 2), (2, 2)),
    ]


def test_a_dense_layer_takes_an_image_through_a_reshape():
    build = ModelBuilder()
    x = build.input("x", (1, 2, 2, 3))
    w, b, s = random_weights(1, (5, 12))
    graph = read(build.finish(build.fully_connected(x, w, b, weight_scales=s[:1], scale=0.1)))
    assert [node.op for node in graph.nodes] == [Reshape((1, 12)), Dense()]


def test_a_missing_bias_is_none():
    graph = read(TINY["dense"]())
    assert [node.inputs[2] is None for node in graph.nodes] == [False, True]


@pytest.mark.parametrize(
    ("mode", "rounding"), [("tflm", RequantRounding.DOUBLE), ("litert-ref", RequantRounding.SINGLE)]
)
def test_the_mode_decides_how_dense_layers_round(mode, rounding):
    assert {op.rounding for op in ops("dense", mode) if isinstance(op, Dense)} == {rounding}


def test_inputs_and_outputs_keep_their_names_and_types():
    graph = read(TINY["dense"]())
    assert graph.inputs == ("features",)
    assert graph.types["features"] == TensorType(DType.I8, (1, 20), Quant((float(np.float32(0.05)),), (10,)))


def test_a_node_says_where_it_comes_from():
    assert read(TINY["conv"]()).nodes[0].origin == 'CONV_2D #0 "conv2d_0"'


def test_a_bias_with_the_axis_of_its_weights_is_read():
    """Old converters wrote axis 3 for the bias of depthwise layers; TFLite Micro takes such files."""
    build = ModelBuilder()
    x = build.input("x", (1, 3, 3, 4))
    w, b, s = random_weights(2, (1, 3, 3, 4), axis=3)
    y = build.depthwise_conv2d(x, w, b, weight_scales=s, scale=0.1)
    name = next(name for name in build.tensors if name.endswith("bias"))
    old = build.tensors[name]
    build.tensors[name] = type(old)(old.name, old.shape, old.dtype, old.scales, old.zero_points, 3, old.data)
    graph = read(build.finish(y))
    quant = graph.types[graph.nodes[0].reads[2]].quant
    assert quant is not None
    assert quant.axis == 0


def test_tensors_of_one_name_are_told_apart():
    """Names need not be unique in a file."""
    build = ModelBuilder()
    x = build.input("x;y", (1, 4))
    a = build.add(x, x, scale=0.1)
    b = build.add(a, x, scale=0.2)
    build.tensors = {
        n: (t if n != "add_0" else t.__class__("add_1", *t_fields(t))) for n, t in build.tensors.items()
    }
    graph = read(build.finish(b))
    assert graph.inputs == ("x;y",)
    assert len({*graph.types}) == 3


def t_fields(tensor: object) -> tuple[Any, ...]:
    return tuple(
        getattr(tensor, field) for field in ("shape", "dtype", "scales", "zero_points", "axis", "data")
    )


def test_operators_may_leave_their_attributes_to_the_defaults():
    build = ModelBuilder()
    x = build.input("x", (1, 4))
    y = build.operator("ADD", 2, (x, x), [build._result("y", x, (1, 4), 0.1, 0)])
    assert read(build.finish(y)).nodes[0].op.name == "add"


def test_float32_models_are_read():
    build = ModelBuilder()
    x = build.input("x", (1, 4), dtype="float32")
    w = np.ones((2, 4), np.float32)
    y = build.fully_connected(x, w, None, weight_scales=(), scale=1.0, activation="RELU6")
    assert [node.op for node in read(build.finish(y)).nodes] == [Dense(Activation.RELU6)]


def test_every_activation_of_the_schema_is_read_or_refused():
    """So that a new one in the schema is noticed here."""
    assert {n for n in vars(tflite.ActivationFunctionType) if n.isupper()} == {
        "NONE",
        "RELU",
        "RELU_N1_TO_1",
        "RELU6",
        "TANH",
        "SIGN_BIT",
    }
