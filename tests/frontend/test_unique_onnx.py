"""The kinds among numbers that are known when the model is compiled; others are refused."""

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx_files import info, onnx_file
from onnx_oracle import run_onnx

from aot.errors import ModelError
from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph

NAMES = ("kinds", "places", "numbers", "counts")
X = np.asarray([[3, 1, 3, 3], [0, 1, 0, 2], [3, 1, 3, 3]], np.float32)


def file_of(x: np.ndarray | None, **attributes: Any) -> bytes:
    node = helper.make_node("Unique", ["x"], NAMES, **attributes)
    made = [info(NAMES[0]), *(info(name, element=TensorProto.INT64) for name in NAMES[1:])]
    return onnx_file([node], {} if x is not None else {"x": [4]}, made, {} if x is None else {"x": x})


@pytest.mark.parametrize(
    "attributes", [{}, {"axis": 0}, {"axis": 1}, {"axis": -1, "sorted": 0}, {"sorted": 0}]
)
def test_the_kinds_of_constants_are_those_of_the_reference(attributes):
    data = file_of(X, **attributes)
    wanted = run_onnx(data, {})
    made = run_graph(read_onnx(data, "kinds.onnx"), {})
    for name, array in zip(NAMES, wanted, strict=True):
        assert np.array_equal(made[name], array), name


def test_data_of_the_run_is_refused_because_the_kinds_are_a_size():
    with pytest.raises(ModelError, match='its data "x" must be known when the model is compiled'):
        read_onnx(file_of(None), "kinds.onnx")
