"""Integers of one width, and float32, are read by their bits; other bits are refused by name."""

import numpy as np
import pytest
from onnx import helper
from onnx_files import onnx_file

from aot.errors import ModelError
from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph


def cast(x: str, to: str) -> bytes:
    elements = [helper.np_dtype_to_tensor_dtype(np.dtype(name)) for name in (x, to)]
    node = helper.make_node("BitCast", ["x"], ["y"], to=elements[1])
    return onnx_file([node], {"x": np.zeros(4, x)}, opset=26)


@pytest.mark.parametrize(
    ("x", "to"),
    [("int8", "uint8"), ("uint8", "int8"), ("uint16", "int16"), ("int16", "uint16"), ("uint32", "int32")],
)
def test_integers_are_read_by_their_bits(x, to):
    info = np.iinfo(x)
    numbers = np.array([info.min, info.max, 1, info.max // 2 + 1], x)
    graph = read_onnx(cast(x, to), "net.onnx")
    made = run_graph(graph, {"x": numbers.astype(graph.types["x"].dtype.numpy)})["y"]
    assert made.tolist() == numbers.view(to).tolist()


@pytest.mark.parametrize("to", ["int32", "uint32"])
def test_floats_are_read_by_their_bits_and_back(to):
    floats = np.array([1.5, -0.0, np.inf, -3e-39], np.float32)
    bits = read_onnx(cast("float32", to), "net.onnx")
    made = run_graph(bits, {"x": floats})["y"]
    assert made.tolist() == floats.view(to).tolist()
    back = read_onnx(cast(to, "float32"), "net.onnx")
    assert run_graph(back, {"x": made})["y"].tobytes() == floats.tobytes()


@pytest.mark.parametrize(
    ("x", "to", "what"),
    [
        (
            "float16",
            "int16",
            "the bits of float16 read as int16 are not supported, only integers and float32",
        ),
        ("int16", "int8", "the bits of int16 cannot be read as int8"),
    ],
)
def test_other_bits_are_refused(x, to, what):
    with pytest.raises(ModelError) as caught:
        read_onnx(cast(x, to), "net.onnx")
    assert caught.value.what == what
