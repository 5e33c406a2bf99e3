"""Front ends for pictures: colours, parts, sizes and scales as the libraries have them; what does not fit."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from library_bounds import BOUND, STORED, negating
from mosaic_cases import MOSAICS, SIZES, sent
from picture_cases import HEIGHT, PICTURES, WIDTH, colours

import deploy
from aot.errors import ModelError
from aot.frontend.declared import DeclarationError
from aot.fronts.attach import read_front, with_front
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.types import DType, Quant, TensorType

SIZE = f"width={WIDTH},height={HEIGHT}"
F32 = DType.F32
MOSAIC_RESULTS = json.loads(Path(__file__).with_name("mosaic_results.json").read_text(encoding="utf-8"))


def pixels(graph: Graph, picture: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The model's input, which the model of these tests negates."""
    (found,) = run_graph(graph, {"pixels": picture[None]}).values()
    result: np.ndarray[Any, Any] = -found[0].astype(np.float64)
    return result


def in_565(picture: np.ndarray[Any, Any], high_first: bool) -> np.ndarray[Any, Any]:
    red, green, blue = (picture[..., c].astype(np.uint16) for c in range(3))
    words = (red >> 3) << 11 | (green >> 2) << 5 | blue >> 3
    pair = [words >> 8, words & 255]
    return np.stack(pair if high_first else pair[::-1], axis=-1).astype(np.uint8)


@pytest.mark.parametrize(("case", "shape"), PICTURES, ids=["resized", "gray", "planes"])
def test_the_reference_gives_what_the_library_gave(case, shape):
    stored = STORED[case.declared]
    found = pixels(with_front(negating(TensorType(F32, shape)), case.declared), colours())
    rows = found.reshape(stored["frames"], -1)[[int(row) for row in stored["rows"]]]
    wanted = np.array(list(stored["rows"].values()))
    assert np.max(np.abs(rows - wanted)) < BOUND * np.max(np.abs(wanted))


def test_colours_come_in_the_order_of_the_camera():
    model = negating(TensorType(F32, (1, HEIGHT, WIDTH, 3)))
    rgb = pixels(with_front(model, f"tf.image:{SIZE}"), colours())
    bgr = pixels(with_front(model, f"tf.image:{SIZE},format=bgr"), colours()[..., ::-1])
    assert np.array_equal(rgb, colours())
    assert np.array_equal(bgr, rgb)


@pytest.mark.parametrize(("form", "high_first"), [("rgb565", False), ("rgb565_high_first", True)])
def test_pixels_of_16_bits_are_unpacked(form, high_first):
    graph = with_front(negating(TensorType(F32, (1, HEIGHT, WIDTH, 3))), f"tf.image:{SIZE},format={form}")
    found = pixels(graph, in_565(colours(), high_first))
    assert np.max(np.abs(found - colours())) <= 7, "the bits that were lost"
    white = pixels(graph, np.full((HEIGHT, WIDTH, 2), 255, np.uint8))
    assert np.all(white == 255)
    assert np.all(pixels(graph, np.zeros((HEIGHT, WIDTH, 2), np.uint8)) == 0)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("mosaic", MOSAICS)
def test_a_mosaic_has_the_colours_of_the_library_in_every_bit(mosaic, size):
    height, width = size
    front = f"tf.image:width={width},height={height},format=bayer_{mosaic}"
    found = pixels(with_front(negating(TensorType(F32, (1, *size, 3))), front), sent(*size)[..., None])
    wanted = np.frombuffer(bytes.fromhex(MOSAIC_RESULTS[f"{mosaic} {height}x{width}"]), np.uint8)
    assert np.array_equal(found.reshape(-1), wanted)


def test_what_is_only_scaled_is_one_table():
    steps = Quant((0.02,), (-5,))
    graph = with_front(
        negating(TensorType(DType.I8, (1, HEIGHT, WIDTH, 3), steps)), f"tf.image:{SIZE},scale=0.01"
    )
    assert [node.op.name for node in graph.nodes][:2] == ["quantize", "lookup"]
    numbers = colours().astype(np.float32) * np.float32(0.01) / np.float32(0.02)
    wanted = np.clip(np.floor(numbers.astype(np.float64) + 0.5) - 5, -128, 127)
    named = {**run_graph(graph.with_nodes(graph.nodes[:2], outputs=("x",)), {"pixels": colours()[None]})}
    assert np.array_equal(named["x"][0], wanted)


def test_a_person_is_seen_in_the_bytes_of_a_camera(shared_dir):
    folder = shared_dir / "models" / "tflm_person_detect_int8"
    real = np.load(folder / "real.npz")
    model = deploy.load(folder / "model.tflite", front="tf.image:width=96,height=96,format=gray,stored=true")
    pictures = (real["in_0"].astype(np.int16) + 128).astype(np.uint8)
    (scores,) = model.run(pictures).values()
    assert np.array_equal(scores.reshape(-1), real["out_0"].reshape(-1))


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize(("form", "bytes_each"), [("rgb565", 2), ("bayer_grbg", 1)])
def test_rows_of_a_camera_are_streamed_through_every_layer(shared_dir, form, bytes_each):
    path = shared_dir / "models" / "tflm_person_detect_int8" / "model.tflite"
    front = f"tf.image:width=120,height=100,format={form},crop_width=100,scale=0.00784,offset=-1"
    rows = np.random.default_rng(5).integers(0, 256, (2, 100, 120, bytes_each)).astype(np.uint8)
    verdict = deploy.verify(path, board="host", front=front, stream=True, inputs=rows, layers=True)
    assert verdict.equal, str(verdict)


WRONG: dict[str, tuple[str, tuple[int, ...], DType, str]] = {
    "no image": (
        f"tf.image:{SIZE}",
        (1, 49, 10, 2),
        F32,
        "error: the front end makes an image of 1 or 3 channels, "
        'but the model\'s input "x" has shape [1, 49, 10, 2]',
    ),
    "no colours": (
        f"tf.image:{SIZE},format=gray",
        (1, 8, 8, 3),
        F32,
        "error: the camera's images have 1 channel, but the model's input \"x\" has 3: [1, 8, 8, 3]",
    ),
    "another size": (
        f"torchvision:{SIZE}",
        (1, 3, 24, 32),
        F32,
        'error: the image has 30x21 pixels, but the model\'s input "x" has 32x24',
    ),
    "means of colours": (
        f"torchvision:{SIZE},antialias=false,mean=0.5/0.4/0.3",
        (1, 1, 8, 8),
        F32,
        'error: there are means or deviations for 3 channels, but the model\'s input "x" has 1',
    ),
    "integers that are none": (
        f"tf.image:{SIZE},stored=true",
        (1, 8, 8, 3),
        F32,
        'error: stored=true needs integers with a scale, but the model\'s input "x" holds f32',
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_refused_with_both_numbers(name):
    front, shape, dtype, what = WRONG[name]
    with pytest.raises(ModelError) as caught:
        with_front(negating(TensorType(dtype, shape)), front)
    assert str(caught.value).splitlines()[:2] == [what, f"  --front {front}"]


@pytest.mark.parametrize(
    ("front", "what"),
    [
        (f"tf.image:{SIZE},format=rgb656", 'format is rgb656 - did you mean "rgb565"?'),
        (
            "torchvision:width=30,height=2,format=bayer_rggb",
            "the camera's images are 30x2, format=bayer_rggb needs at least 3x3 pixels",
        ),
        (f"tf.image:{SIZE},crop_width=31", "crop_width is 31, the camera's images are 30x21"),
        (f"tf.image:{SIZE},stored=true,scale=2", "stored=true uses the model's scale and offset"),
        (f"torchvision:{SIZE},std=0", "std must be more than 0, not 0"),
        (
            f"torchvision:{SIZE},mean=0.5/0.4",
            "mean has 2 numbers, it needs 1 or 3, one for each channel",
        ),
        (
            f"torchvision:{SIZE},mean=imagenet",
            "torchvision: mean must be a number or a list of numbers, not imagenet",
        ),
        ("tf.image:width=30", "tf.image needs height"),
    ],
)
def test_a_wrong_declaration_is_reported(front, what):
    with pytest.raises(DeclarationError) as caught:
        read_front(front)
    assert caught.value.what == what


def test_lists_are_kept_as_words():
    given = {"name": "torchvision", "width": 30, "height": 21, "mean": [0.5, 0.4, 0.3], "std": 0.25}
    kept = "torchvision:width=30,height=21,mean=0.5/0.4/0.3,std=0.25"
    assert read_front(given) == kept == read_front(kept)
