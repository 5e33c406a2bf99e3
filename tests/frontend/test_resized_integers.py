"""Images of integers are resized by real shares; the fraction of their sum is cut off."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from onnx import helper, numpy_helper
from onnx_oracle import run_onnx

from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph


def resized(dtype: type[np.generic], mode: str, *scales: float) -> tuple[bytes, np.ndarray]:
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], mode=mode)
    x = helper.make_tensor_value_info("x", element, (1, 2, 6, 4))
    y = helper.make_empty_tensor_value_info("y")
    given = numpy_helper.from_array(np.array([1, 1, *scales], np.float32), "scales")
    graph = helper.make_graph([node], "net", [x], [y], [given])
    data = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    pixels = np.random.default_rng(3).integers(0, 128, (1, 2, 6, 4))
    return data.SerializeToString(), (pixels - 64 * (dtype != np.uint8)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32])
@pytest.mark.parametrize("mode", ["linear", "nearest"])
@pytest.mark.parametrize("scales", [(2, 2), (4, 2), (0.5, 0.5)])
def test_integers_are_those_of_onnx_runtime(
    dtype: type[np.generic], mode: str, scales: tuple[float, ...], require_package: Callable[..., None]
) -> None:
    """By powers of two all shares are exact."""
    require_package("onnxruntime")
    data, x = resized(dtype, mode, *scales)
    made = run_graph(read_onnx(data, "net.onnx"), {"x": x})["y"]
    np.testing.assert_array_equal(made, run_onnx(data, {"x": x})[0])
