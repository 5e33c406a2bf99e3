"""Shapes that the file computes with operators are worked out while it is read; outputs may be one tensor."""

from __future__ import annotations

import numpy as np
from tflite_builder import ModelBuilder

from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor
from aot.ir.graph import Graph
from aot.ir.verify import verify


def read(model: ModelBuilder, *outputs: str) -> Graph:
    graph = read_tflite(model.finish(*outputs), "net.tflite", "tflm")
    verify(graph)
    return graph


def flattened() -> Graph:
    """What Keras makes of a Reshape layer where the batch is open: [SHAPE(x)[0], 12]."""
    model = ModelBuilder()
    x = model.input("x", (1, 2, 2, 3), 0.5, 3)
    whole = model.operator("SHAPE", 1, (x,), [FileTensor("whole", (4,), "int32")])
    ends = [
        model.constant(name, np.array([n], np.int32)) for name, n in (("begin", 0), ("end", 1), ("step", 1))
    ]
    batch = model.operator(
        "STRIDED_SLICE",
        1,
        (whole, *ends),
        [FileTensor("batch", (), "int32")],
        "StridedSliceOptions",
        ShrinkAxisMask=1,
    )
    size = model.constant("size", np.array(12, np.int32))
    shape = model.operator(
        "PACK", 1, (batch, size), [FileTensor("shape", (2,), "int32")], "PackOptions", ValuesCount=2
    )
    y = model.operator("RESHAPE", 1, (x, shape), [FileTensor("y", (1, 12), "int8", (0.5,), (3,))])
    return read(model, y)


def test_a_shape_made_by_operators_is_as_good_as_a_constant() -> None:
    assert [(node.op.name, node.outputs) for node in flattened().nodes] == [("reshape", ("y",))]


def test_an_output_delivered_twice_has_two_names() -> None:
    model = ModelBuilder()
    x = model.input("x", (1, 4), 0.5, 3)
    y = model.operator("RELU", 1, (x,), [FileTensor("y", (1, 4), "int8", (0.5,), (3,))])
    assert read(model, y, y).outputs == ("y", "y#2")
