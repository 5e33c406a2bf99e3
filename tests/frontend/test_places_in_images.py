"""RoiAlign, DeformConv, Det and TopK beyond the standard's own cases give what ONNX Runtime gives."""

from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx_files import onnx_file
from onnx_oracle import run_onnx

from aot.errors import ModelError
from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph

RNG = np.random.default_rng(8)
IMAGES = RNG.normal(size=(2, 4, 7, 9)).astype(np.float32)
REGIONS = {
    "x": IMAGES,
    "rois": np.array([[-3, -2, 4, 30], [2.5, 1, 2.6, 1.2], [6, 5, 1, 1]], np.float32),
    "images": np.array([1, 0, 1], np.int64),
}
DEFORMED = {
    "x": IMAGES,
    "w": RNG.normal(size=(6, 2, 3, 2)).astype(np.float32),
    "offsets": RNG.normal(0, 3, size=(2, 24, 3, 9)).astype(np.float32),
    "b": RNG.normal(size=6).astype(np.float32),
    "mask": RNG.normal(size=(2, 12, 3, 9)).astype(np.float32),
}
STRIDES = {"strides": [2, 1], "dilations": [2, 1], "pads": [1, 0, 1, 1], "group": 2, "offset_group": 2}
SIZES = {"output_height": 3, "output_width": 2, "sampling_ratio": 3, "spatial_scale": 0.5}
MATRICES = {"x": RNG.normal(size=(3, 2, 5, 5)).astype(np.float32)}
SINGULAR = np.array([[0, 0, 0], [0, 2, 1], [0, 4, 2]], np.float32)
CASES: dict[str, tuple[str, dict[str, np.ndarray], dict[str, Any]]] = {
    **{
        f"regions by {mode}, {where}": (  # type: ignore[misc]
            "RoiAlign",
            REGIONS,
            {**SIZES, "mode": mode, "coordinate_transformation_mode": where},
        )
        for mode in ("avg", "max")
        for where in ("half_pixel", "output_half_pixel")
    },
    "offsets in groups": ("DeformConv", DEFORMED, STRIDES),
    "determinants": ("Det", MATRICES, {}),
    "no determinant": ("Det", {"x": SINGULAR}, {}),
    "determinants of numbers": ("Det", {"x": MATRICES["x"][:, :, :1, :1]}, {}),
}


def file_of(operator: str, inputs: dict[str, np.ndarray], outputs: int = 1, **attributes: Any) -> bytes:
    made = [f"y{n}" for n in range(outputs)]
    return onnx_file([helper.make_node(operator, list(inputs), made, **attributes)], inputs, made, opset=19)


@pytest.mark.parametrize("name", CASES)
def test_an_operator_gives_what_onnx_runtime_gives(name):
    operator, inputs, attributes = CASES[name]
    data = file_of(operator, inputs, **attributes)
    made = run_graph(read_onnx(data, "net.onnx"), inputs)["y0"]
    np.testing.assert_allclose(made, run_onnx(data, inputs)[0], rtol=1e-4, atol=1e-5)  # type: ignore[arg-type]


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("element", [np.float32, np.int64])
def test_the_first_of_many_are_found_in_turns(largest, element):
    """Equal numbers, and the least that there are, come in the order of their places."""
    x = RNG.integers(-9, 9, size=(2, 300, 3)).astype(element)
    x[0, 5:295] = -np.inf if element is np.float32 else np.iinfo(np.int64).min
    inputs = {"x": x, "k": np.array([12], np.int64)}
    data = file_of("TopK", inputs, 2, axis=1, largest=largest)
    graph = read_onnx(data, "net.onnx", values={"k": inputs["k"]})
    made = run_graph(graph, {"x": x})
    for mine, wanted in zip(made.values(), run_onnx(data, inputs), strict=True):
        assert np.array_equal(mine, wanted)


def test_too_many_of_too_many_are_refused():
    inputs = {"x": np.zeros((1, 300), np.float32), "k": np.array([65], np.int64)}
    with pytest.raises(ModelError) as caught:
        read_onnx(file_of("TopK", inputs, 2), "net.onnx", values={"k": inputs["k"]})  # type: ignore[arg-type, dict-item]
    assert caught.value.what == (
        "the first 65 of 300 are not supported: at most the first 64, or all of up to 256"
    )


def test_samples_whose_number_the_run_decides_are_refused():
    with pytest.raises(ModelError) as caught:
        read_onnx(file_of("RoiAlign", REGIONS), "net.onnx")  # type: ignore[arg-type]
    assert caught.value.what == (
        "0 samples (sampling_ratio) by avg are not supported, the number must be constant"
    )


@pytest.mark.parametrize(
    ("changed", "attributes", "what"),
    [
        ({"rois": np.zeros(4, np.float32)}, SIZES, "regions [4] in 3 x 2 parts are not supported"),
        (
            {},
            {**SIZES, "output_height": 1 << 40},
            "regions [3, 4] in 1099511627776 x 2 parts are not supported",
        ),
    ],
)
def test_regions_that_are_none_are_refused(changed, attributes, what):
    with pytest.raises(ModelError) as caught:
        read_onnx(file_of("RoiAlign", {**REGIONS, **changed}, **attributes), "net.onnx")  # type: ignore[dict-item]
    assert caught.value.what == what


def test_whole_numbers_to_a_known_power_are_exact():
    inputs = {"x": np.array([3, -7, 2097151, 0], np.int64), "y": np.array(3, np.int64)}
    graph = read_onnx(file_of("Pow", inputs), "net.onnx", values={"y": inputs["y"]})
    made = run_graph(graph, {"x": inputs["x"]})["y0"]
    assert made.tolist() == [27, -343, 2097151**3, 0]


def test_a_model_without_inputs_gives_what_it_has_computed():
    size = helper.make_node("Constant", [], ["size"], value_int=4)
    window = helper.make_node("HannWindow", ["size"], ["y"])
    data = onnx_file([size, window], {}, {"y": [4]})
    np.testing.assert_allclose(run_graph(read_onnx(data, "net.onnx"), {})["y"], [0, 0.5, 1, 0.5], atol=1e-6)  # type: ignore[arg-type]
