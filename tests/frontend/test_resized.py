"""Resized images equal ONNX Runtime's: floats and integers, also if a scale times a length is no integer."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx_files import onnx_file
from onnx_oracle import run_onnx

from aot.errors import ModelError
from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph

SHAPES = ((1, 2, 5, 7), (1, 1, 4, 4), (1, 3, 2, 6))
MODES = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
SCALES = ((2, 2), (1.5, 2.5), (0.7, 0.5), (1.3, 1), (1.1, 1.1))
SIZES = ((9, 3), (1, 1), (4, 14), (5, 1))
TINY = 1e-5


def resize(
    shape: Sequence[int],
    scales: Sequence[float] = (),
    sizes: Sequence[int] = (),
    version: int = 18,
    **attributes: Any,
) -> bytes:
    if sizes:
        names = ["x", "", "", "given"]
        given: Any = np.array([*shape[:2], *sizes], np.int64)
    else:
        names = ["x", "given"] if version < 11 else ["x", "", "given"]
        given = np.array([1, 1, *scales], np.float32)
    node = helper.make_node("Resize", names, ["y"], **attributes)
    return onnx_file([node], {"x": shape}, constants={"given": given}, opset=version)


def distance(data: bytes, shape: Sequence[int]) -> float:
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    made: Any = run_graph(read_onnx(data, "net.onnx"), {"x": x})["y"]
    (wanted,) = run_onnx(data, {"x": x})
    assert made.shape == wanted.shape
    return float(np.abs(made - wanted).max())


@pytest.mark.parametrize("mode", ["linear", "cubic", "nearest"])
@pytest.mark.parametrize("transformation", MODES)
def test_images_are_those_of_onnx_runtime(mode, transformation):
    attributes: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": transformation}
    files = [(shape, resize(shape, scales, **attributes)) for shape, scales in product(SHAPES, SCALES)]
    files += [(shape, resize(shape, (), sizes, **attributes)) for shape, sizes in product(SHAPES, SIZES)]
    assert [data for shape, data in files if distance(data, shape) > TINY] == []


@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
@pytest.mark.parametrize("transformation", MODES[:3])
def test_places_near_the_middle_of_two_elements_go_where_they_go_in_onnx_runtime(rounding, transformation):
    attributes: dict[str, Any] = {
        "mode": "nearest",
        "coordinate_transformation_mode": transformation,
        "nearest_mode": rounding,
    }
    sizes = [(7, 8), (13, 16), (43, 44), (25, 30), (6, 15), (14, 58), (45, 50), (40, 30), (58, 9)]
    files = [((1, 1, *pair), resize((1, 1, *pair), (), pair[::-1], **attributes)) for pair in sizes]
    assert [shape for shape, data in files if distance(data, shape) > 0] == []


@pytest.mark.parametrize("scale", [0.7, 0.3, 0.1, 1 / 3, 0.9])
@pytest.mark.parametrize("length", [10, 13, 30])
@pytest.mark.parametrize("version", [10, 13])
def test_lengths_are_found_in_single_precision(scale, length, version):
    shape = (1, 1, 3, length)
    assert distance(resize(shape, (1, scale), version=version, mode="nearest"), shape) == 0


def test_corners_of_a_file_with_a_region_leave_other_dimensions_alone():
    """As exporters of set 11 write it: an empty region, which concerns crops alone."""
    shape = (1, 2, 3, 4)
    node = helper.make_node(
        "Resize", ["x", "region", "s"], ["y"], "", coordinate_transformation_mode="tf_half_pixel_for_nn"
    )
    given = {"region": np.zeros(0, np.float32), "s": np.array([1, 1, 1.5, 2], np.float32)}
    data = onnx_file([node], {"x": shape}, constants=given, opset=11)
    assert distance(data, shape) == 0


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"scales": (0.7, 0.5)}, "a resize from 1 to 0 elements is not supported"),
        ({"sizes": (0, 3)}, "a resize from 1 to 0 elements is not supported"),
        ({"sizes": (-1, 3)}, "a resize from 1 to -1 elements is not supported"),
        ({"sizes": (2**62, 3)}, f"a resize from 1 to {2**62} elements is not supported"),
        ({"sizes": (2, 3, 4)}, "sizes [1, 3, 2, 3, 4] do not fit 4 dimensions"),
        ({"scales": (np.inf, 1)}, "scales [1.0, 1.0, inf, 1.0] do not fit 4 dimensions"),
        ({"scales": (np.nan, 1)}, "scales [1.0, 1.0, nan, 1.0] do not fit 4 dimensions"),
    ],
)
def test_results_without_elements_or_with_too_many_are_refused(given, wanted):
    with pytest.raises(ModelError) as caught:
        read_onnx(resize((1, 3, 1, 6), **given, mode="linear"), "net.onnx")
    assert caught.value.what == wanted


def resized(dtype: type[np.generic], mode: str, *scales: float) -> tuple[bytes, np.ndarray]:
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], mode=mode)
    pixels = np.random.default_rng(3).integers(0, 128, (1, 2, 6, 4))
    x = (pixels - 64 * (dtype != np.uint8)).astype(dtype)
    given = np.array([1, 1, *scales], np.float32)
    return onnx_file([node], {"x": x}, constants={"scales": given}, opset=18), x


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32])
@pytest.mark.parametrize("mode", ["linear", "nearest"])
@pytest.mark.parametrize("scales", [(2, 2), (4, 2), (0.5, 0.5)])
def test_integers_are_those_of_onnx_runtime(dtype, mode, scales):
    """By powers of two all shares are exact."""
    data, x = resized(dtype, mode, *scales)
    made = run_graph(read_onnx(data, "net.onnx"), {"x": x})["y"]
    np.testing.assert_array_equal(made, run_onnx(data, {"x": x})[0])
