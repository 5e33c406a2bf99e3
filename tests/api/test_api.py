"""The Python API: the same verbs as the command line, and no names by accident."""

import doctest
import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from error_facts import refused, require_facts

import deploy
from aot.errors import BoardError, FitError, InputError
from codegen.options import CompileOptions, read_options

IMAGES = np.random.default_rng(0).integers(-128, 128, (3, 1, 8, 8, 1)).astype(np.int8)
NAMES = {
    "DeployError",
    "Model",
    "Run",
    "accelerators",
    "bench",
    "boards",
    "build",
    "compile",
    "cache",
    "connect",
    "diff",
    "docs",
    "doctor",
    "evidence",
    "explore",
    "export",
    "flash",
    "graph",
    "in_process",
    "inspect",
    "load",
    "new",
    "new_accelerator",
    "ops",
    "quantize",
    "records",
    "report",
    "run",
    "tune",
    "verify",
}


def reference(model: Path) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    loaded = deploy.load(model)
    return np.stack([only(loaded.run(image)) for image in IMAGES])


def only(
    outputs: Mapping[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    (array,) = outputs.values()
    return array


def test_the_public_names_are_these():
    assert set(deploy.__all__) == NAMES
    assert {name for name in NAMES if getattr(deploy, name, None) is not None} == NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_public_name_says_what_it_is_for(name):
    assert inspect.getdoc(getattr(deploy, name))


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'frobnicate'"):
        deploy.frobnicate  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.cc
def test_the_example_in_the_docstring_is_true(own_folders):
    failed, attempted = doctest.testmod(deploy)
    assert failed == 0 < attempted


def test_a_loaded_model_tells_its_inputs_and_outputs(model):
    loaded = deploy.load(model)
    assert {name: kind.shape for name, kind in loaded.inputs.items()} == {"image": (1, 8, 8, 1)}
    assert [kind.shape for kind in loaded.outputs.values()] == [(1, 5)]


def test_a_compiled_model_saves_its_archive(model, tmp_path):
    compiled = deploy.compile(model, board="mps2-an386")
    compiled.save(tmp_path / "a.tar")
    of_archive = deploy.inspect(tmp_path / "a.tar", board="mps2-an386").as_json()
    of_compiled = deploy.inspect(compiled).as_json()
    assert of_compiled["time"]["cycles"] > 0
    assert json.dumps(of_archive) == json.dumps(of_compiled)
    assert of_archive["arena_bytes"] == compiled.arena_bytes
    assert of_archive["constants_bytes"] == compiled.constants_bytes


def test_a_budget_that_is_too_small_is_an_error_of_its_own_kind(model):
    with pytest.raises(FitError):
        deploy.compile(model, board="host", ram=10)


def test_inspect_prints_as_the_command_does(model):
    found = deploy.inspect(deploy.load(model), board="mps2-an386")
    assert found.fits
    assert str(found).startswith("tiny (tiny.tflite) for mps2-an386\n")


@pytest.mark.cc
@pytest.mark.parametrize(
    "give",
    [lambda m: m, str, deploy.load, lambda m: deploy.compile(m, board="host")],
    ids=["path", "text", "loaded", "compiled"],
)
def test_whatever_is_given_runs_to_the_same_outputs(model, give):
    result = deploy.run(give(model), {"image": IMAGES}, board="host")
    np.testing.assert_array_equal(only(result.outputs), reference(model))
    assert result.seconds is not None
    assert 0 < result.seconds.min <= result.seconds.max


@pytest.mark.cc
def test_one_sample_needs_neither_name_nor_axis(model):
    result = deploy.run(model, IMAGES[0], board="host")
    np.testing.assert_array_equal(only(result.outputs), reference(model)[0])


def test_a_batch_gives_a_batch(model):
    batch = IMAGES[:, 0]
    found = only(deploy.load(model).run(batch))
    np.testing.assert_array_equal(found, reference(model)[:, 0])


@pytest.mark.cc
def test_a_board_takes_a_batch_too(model):
    found = only(deploy.run(model, IMAGES[:, 0], board="host").outputs)
    np.testing.assert_array_equal(found, reference(model)[:, 0])


@pytest.mark.cc
def test_a_model_in_this_process_takes_arrays_without_names(model):
    in_process = deploy.in_process(model)
    for inputs in (IMAGES[0], [IMAGES[0]]):
        np.testing.assert_array_equal(only(in_process.run(inputs)), reference(model)[0])
    with pytest.raises(InputError, match='2 arrays given, the model needs 1 input: "image"'):
        in_process.run([IMAGES[0], IMAGES[1]])


@pytest.mark.cc
def test_a_model_in_this_process_gives_the_same(model):
    in_process = deploy.in_process(model)
    found = np.stack([only(in_process.run({"image": image})) for image in IMAGES])
    np.testing.assert_array_equal(found, reference(model))


@pytest.mark.cc
def test_a_compiled_model_runs_in_this_process_too(model):
    compiled = deploy.compile(model, "mps2-an386")
    found = np.stack([only(deploy.in_process(compiled).run(image)) for image in IMAGES])
    np.testing.assert_array_equal(found, reference(model))
    with pytest.raises(InputError, match="compiled already"):
        deploy.in_process(compiled, optimize="ram")


def test_a_board_is_a_name_or_a_file(model):
    with pytest.raises(InputError, match=r"a board is a name or a file, not ndarray\n.*example="):
        deploy.compile(model, IMAGES[0])


@pytest.mark.cc
def test_verify_compares_with_the_reference(model):
    verdict = deploy.verify(model, board="host", inputs=IMAGES, layers=True)
    assert verdict.equal
    assert verdict.samples == 3
    assert verdict.layers >= 4
    verdict.require_equal()


@pytest.mark.parametrize(
    ("option", "value", "facts"),
    [
        ("optimize", "fast", 'optimize "fast" speed, size, ram'),
        ("ram", "64Q", 'ram "64Q" 65536, 64KB 1MB'),
        ("ram", True, "ram True 65536, 64KB 1MB"),
        ("exact", "yes", 'exact "yes" True False'),
        ("pool", 3, "pool 3 DTCM=64K"),
        ("pool", ["DTCM=6Q"], 'pool "6Q" 65536, 64KB 1MB'),
        ("constants", "conv2d", 'constants "conv2d" dense=QSPI'),
        ("shape", {"x": (1, 0)}, "shape ('x', (1, 0)) x=1,3,32,32 x=1..4,3,16/32,32"),
        ("value", "axes=", 'value "axes=" axes=0,1'),
        ("tuning_records", 1, "tuning_records 1 path file"),
        ("optimize", "sped", 'optimize "sped" "speed"? speed, size, ram'),
        ("rounding", "litert", 'rounding "litert" "litert-ref"? auto, tflm, litert-ref, onnx'),
    ],
)
def test_a_value_that_an_option_does_not_take_is_reported(model, option, value, facts):
    refused(lambda: deploy.compile(model, "host", None, **{option: value}), facts, InputError)


def test_a_rounding_that_is_not_known_is_reported_when_a_model_is_loaded(model):
    refused(lambda: deploy.load(model, rounding="foo"), 'rounding "foo"', InputError)


@pytest.mark.parametrize("model", [len, object(), None, 3])
def test_what_is_not_a_model_is_reported(model):
    with pytest.raises(InputError) as caught:
        deploy.compile(cast("Path", model), board="host")
    said = f"a model must be a path or the result of deploy.load, not a {type(model).__name__}"
    require_facts(caught.value, f"{said} deploy.compile PyTorch Keras scikit-learn JAX")


def test_a_keyword_that_is_not_an_option_is_reported_with_the_nearest(model):
    with pytest.raises(TypeError) as caught:
        deploy.compile(model, "host", shapes={"x": (1,)})
    assert str(caught.value).startswith(
        '"shapes" is not an option here - did you mean "shape"?; known: model, board, target, example,'
    )
    with pytest.raises(TypeError) as caught:
        deploy.load(model, optimize="ram")
    known = "path, rounding, slide, shape, value, state, front, back, name"
    assert str(caught.value) == f'"optimize" is not an option here; known: {known}'


@pytest.mark.parametrize(("given", "meant"), [("examples", "example"), ("boards", "board")])
def test_a_keyword_near_a_parameter_is_reported_with_it(given, meant, model):
    with pytest.raises(TypeError, match=f'"{given}" is not an option here - did you mean "{meant}"'):
        deploy.compile(model, **{given: "host"})


def test_a_model_is_compiled_with_the_rounding_that_it_was_loaded_with(model):
    loaded = deploy.load(model, rounding="litert-ref")
    assert deploy.compile(loaded, "host").job.options.rounding.value == "litert-ref"
    assert deploy.inspect(loaded).report.facts.options.rounding.value == "litert-ref"
    assert deploy.compile(loaded, "host", rounding="tflm").job.options.rounding.value == "tflm"


def test_shapes_are_given_as_on_the_command_line_or_as_a_mapping(model):
    words, mapping = ({"shape": given} for given in ("x=1,3,32,32", {"x": np.array([1, 3, 32, 32])}))
    assert read_options(words) == read_options(mapping) == CompileOptions(shapes={"x": (1, 3, 32, 32)})


@pytest.mark.parametrize("call", [deploy.run, deploy.inspect], ids=["run", "inspect"])
def test_what_is_compiled_is_not_compiled_otherwise(model, call):
    compiled = deploy.compile(model, board="host")
    inputs = [IMAGES] if call is deploy.run else []
    with pytest.raises(InputError, match="this model is compiled already"):
        call(compiled, *inputs, optimize="ram")
    refused(
        lambda: call(compiled, *inputs, board="mps2-an386"),
        '"host" "mps2-an386" tiny compiled board deploy.compile(model board="mps2-an386"',
        BoardError,
    )


def test_an_archive_is_not_inspected_as_if_it_were_compiled_otherwise(model, tmp_path):
    deploy.compile(model, board="host").save(tmp_path / "a.tar")
    with pytest.raises(InputError, match="this model is compiled already"):
        deploy.inspect(tmp_path / "a.tar", rounding="litert-ref")
