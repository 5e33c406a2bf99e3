"""The Python API: the same verbs as the command line, and no names by accident."""

from __future__ import annotations

import doctest
import inspect
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from tiny_models import TINY

import deploy
from aot.errors import FitError, InputError

IMAGES = np.random.default_rng(0).integers(-128, 128, (3, 1, 8, 8, 1)).astype(np.int8)
NAMES = {"DeployError", "Model", "Run", "compile", "in_process", "inspect", "load", "run", "tune", "verify"}


@pytest.fixture
def model(tmp_path: Path, own_folders: None) -> Path:
    path = tmp_path / "tiny.tflite"
    path.write_bytes(TINY["classifier"]())
    return path


def reference(model: Path) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    loaded = deploy.load(model)
    return np.stack([only(loaded.run(image)) for image in IMAGES])


def only(
    outputs: Mapping[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    (array,) = outputs.values()
    return array


def test_the_public_names_are_these() -> None:
    assert set(deploy.__all__) == NAMES
    assert {name for name in NAMES if getattr(deploy, name, None) is not None} == NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_public_name_says_what_it_is_for(name: str) -> None:
    assert inspect.getdoc(getattr(deploy, name))


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'frobnicate'"):
        deploy.frobnicate  # noqa: B018


@pytest.mark.cc
def test_the_example_in_the_docstring_is_true(own_folders: None) -> None:
    failed, attempted = doctest.testmod(deploy)
    assert failed == 0 < attempted


def test_a_loaded_model_tells_its_inputs_and_outputs(model: Path) -> None:
    loaded = deploy.load(model)
    assert {name: kind.shape for name, kind in loaded.inputs.items()} == {"image": (1, 8, 8, 1)}
    assert [kind.shape for kind in loaded.outputs.values()] == [(1, 5)]


def test_a_compiled_model_saves_its_archive(model: Path, tmp_path: Path) -> None:
    compiled = deploy.compile(model, board="mps2-an386")
    compiled.save(tmp_path / "a.tar")
    of_archive = deploy.inspect(tmp_path / "a.tar", board="mps2-an386").as_json()
    assert json.dumps(of_archive) == json.dumps(deploy.inspect(compiled).as_json())
    assert of_archive["arena_bytes"] == compiled.arena_bytes
    assert of_archive["constants_bytes"] == compiled.constants_bytes


def test_a_budget_that_is_too_small_is_an_error_of_its_own_kind(model: Path) -> None:
    with pytest.raises(FitError):
        deploy.compile(model, board="host", ram_bytes=10)


def test_inspect_prints_as_the_command_does(model: Path) -> None:
    found = deploy.inspect(deploy.load(model), board="mps2-an386")
    assert found.fits
    assert str(found).startswith("tiny (tiny.tflite) for mps2-an386\n")


@pytest.mark.cc
@pytest.mark.parametrize(
    "give",
    [lambda m: m, str, deploy.load, lambda m: deploy.compile(m, board="host")],
    ids=["path", "text", "loaded", "compiled"],
)
def test_whatever_is_given_runs_to_the_same_outputs(model: Path, give: Callable[[Path], Path]) -> None:
    result = deploy.run(give(model), {"image": IMAGES}, board="host")
    np.testing.assert_array_equal(only(result.outputs), reference(model))
    assert 0 < result.seconds.min <= result.seconds.max


@pytest.mark.cc
def test_one_sample_needs_neither_name_nor_axis(model: Path) -> None:
    result = deploy.run(model, IMAGES[0], board="host")
    np.testing.assert_array_equal(only(result.outputs), reference(model)[0])


@pytest.mark.cc
def test_a_model_in_this_process_gives_the_same(model: Path) -> None:
    in_process = deploy.in_process(model)
    found = np.stack([only(in_process.run({"image": image})) for image in IMAGES])
    np.testing.assert_array_equal(found, reference(model))


@pytest.mark.cc
def test_verify_compares_with_the_reference(model: Path) -> None:
    verdict = deploy.verify(model, board="host", inputs=IMAGES, layers=True)
    assert verdict.equal
    assert verdict.samples == 3
    assert verdict.layers >= 4
    verdict.require_equal()


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("optimize", "fast", 'error: optimize "fast" is not known\n  hint: known: speed, size, ram'),
        (
            "optimize",
            "sped",
            'error: optimize "sped" is not known - did you mean "speed"?\n  hint: known: speed, size, ram',
        ),
        (
            "rounding",
            "litert",
            'error: rounding "litert" is not known - did you mean "litert-ref"?\n'
            "  hint: known: tflm, litert-ref, onnx",
        ),
    ],
)
def test_an_option_that_is_not_known_is_told(model: Path, option: str, value: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        deploy.compile(model, "host", **{option: value})  # type: ignore[arg-type]
    assert str(caught.value) == told


def test_a_rounding_that_is_not_known_is_told_when_a_model_is_loaded(model: Path) -> None:
    with pytest.raises(InputError, match='rounding "foo" is not known'):
        deploy.load(model, rounding="foo")
