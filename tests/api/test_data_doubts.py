"""Samples that are constant, clipped or scaled otherwise are named; good ones are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deploy
from aot.frontend.load import load_model
from aot.ir.tensor_spec import graph_specs
from aot.ir.types import Array
from deploy.inputs.data_doubts import calibration_doubts, chance_doubts, range_doubts
from deploy.inputs.input_options import DataOptions, make_data

DEMO = Path(deploy.__file__).parent / "demo"
NOISE = np.random.default_rng(0).normal(size=(16, 1, 64)).astype(np.float32)


def samples(values: Array) -> list[dict[str, Array]]:
    return [{"x": row} for row in values]


def digits() -> Any:
    images: Any = np.load(DEMO / "digits_test.npz")["image"][:32]
    return ((images.astype(np.float32) + 128) / 255).reshape(-1, 1, 8, 8, 1)


CALIBRATIONS: dict[str, tuple[Array, str]] = {
    "constant": (np.full((4, 1, 64), 0.5, np.float32), '"x" is 0.5 everywhere in every sample: '),
    "one sample again": (np.repeat(NOISE[:1], 5, axis=0), 'all 5 samples of "x" are the same'),
    "clipped": (np.clip(NOISE, -1, 1), '% of "x" are -1 or 1, the limits of its range: was it clipped?'),
    "another scale": (NOISE * 255, " in the calibration and "),
}


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_an_odd_calibration_is_named(name: str) -> None:
    values, text = CALIBRATIONS[name]
    assert text in "\n".join(calibration_doubts(samples(values), {"x": NOISE[0]}))


def test_a_usual_calibration_is_not() -> None:
    assert calibration_doubts(samples(NOISE), {"x": NOISE[0]}) == ()
    assert calibration_doubts(samples(NOISE), {"x": np.zeros_like(NOISE[0])}) == (), "an example of zeros"
    assert calibration_doubts(samples(digits())) == (), "a black background is no clipping"
    assert calibration_doubts([{"ids": np.array([[1, 1]])}]) == ()


def test_a_model_that_guesses_is_named() -> None:
    assert "about chance" in chance_doubts(0.12, 10, "PyTorch")[0]
    assert chance_doubts(0.35, 10, "PyTorch") == chance_doubts(None, 10, "PyTorch") == ()
    assert chance_doubts(0.7, 2, "PyTorch") == ()


def test_floats_beyond_the_models_range_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    graph = load_model(DEMO / "digits.tflite")
    specs = graph_specs(graph, graph.inputs)
    name, images = specs[0].name, digits().reshape(-1, 8, 8, 1)
    assert range_doubts({name: images}, specs) == ()
    (clamped,) = range_doubts({"input_0": images * 255}, specs)
    assert '"image" are beyond 0 to 1, the range of the model, and are clamped' in clamped
    (small,) = range_doubts({name: images / 255}, specs)
    assert '"image" has values from 0 to 0.00392, the model\'s range is 0 to 1' in small
    make_data({name: images * 255}, DataOptions(quantize=True), specs, 1)
    assert capsys.readouterr().err.startswith("warning: ")
