"""What users hand over: arrays, loaders, clips, models. Doubtful data is named, wrong models are refused."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from error_facts import refused

import deploy
from aot.errors import InputError
from aot.frontend.load import load_model
from aot.ir.tensor_spec import TensorSpec, graph_specs
from aot.ir.types import Array, DType, TensorType
from deploy.inputs.data_doubts import calibration_doubts, chance_doubts, range_doubts
from deploy.inputs.given_arrays import by_name, is_loader, plain, with_labels, without_labels
from deploy.inputs.input_options import DataOptions, make_data
from deploy.inputs.samples import make_samples

DEMO = Path(deploy.__file__).parent / "demo"
ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)
CLASSES = np.array([0, 1, 0, 1])


class FakeTensor:
    """A tensor that takes part in training, so that NumPy may not see it."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad")

    def detach(self) -> Any:
        return self

    def cpu(self) -> Any:
        return self.array


class FakeLoader:
    """Gives pairs of samples and their classes, two at a time."""

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, len(ROWS), 2):
            yield [FakeTensor(ROWS[start : start + 2]), FakeTensor(CLASSES[start : start + 2])]


def test_a_tensor_is_an_array():
    assert np.array_equal(plain(FakeTensor(ROWS)), ROWS)
    assert list(by_name(FakeTensor(ROWS))) == ["input_0"]
    assert list(by_name([ROWS, ROWS])) == ["input_0", "input_1"]
    assert list(by_name({"x": FakeTensor(ROWS)})) == ["x"]


def test_a_loaders_batches_are_joined_with_their_labels():
    found = by_name(FakeLoader())
    assert set(found) == {"input_0", "labels"}
    assert np.array_equal(found["input_0"], ROWS)
    assert np.array_equal(found["labels"], CLASSES)


def test_the_labels_of_a_loader_are_no_input_of_a_run():
    model = deploy.load(DEMO / "digits.tflite")
    images = np.load(DEMO / "digits_test.npz")["image"][:4]
    batches: Any = iter([(images[:2], CLASSES[:2]), (images[2:], CLASSES[2:])])
    assert np.array_equal(model.run(batches)["digit"], model.run(images)["digit"])


def test_what_is_a_loader():
    assert is_loader(FakeLoader())
    assert is_loader(iter([ROWS]))
    for value in (ROWS, FakeTensor(ROWS), [ROWS], {"x": ROWS}, 3):
        assert not is_loader(value)


def test_things_without_numbers_are_refused():
    with pytest.raises(InputError, match="a object is not an array of numbers"):
        by_name(object())
    pairs = [(ROWS, CLASSES[0]), (ROWS, CLASSES[1])]
    with pytest.raises(InputError, match=r"(?s)a tuple is not an array.*for pairs: \[x for x, _"):
        plain(pairs[0])
    with pytest.raises(InputError, match="the list_iterator returned no batch"):
        by_name(iter([]))


def test_labels_are_beside_the_samples_or_among_them_and_not_both():
    inputs, labels = without_labels({"x": ROWS, "labels": CLASSES}, None)
    assert list(inputs) == ["x"]
    assert labels is CLASSES
    assert without_labels({"x": ROWS}, None)[1] is None
    assert np.array_equal(with_labels({"x": ROWS}, FakeTensor(CLASSES))["labels"], CLASSES)
    with pytest.raises(InputError, match="labels were given twice: as an argument and in the samples"):
        with_labels({"x": ROWS, "labels": CLASSES}, CLASSES)


@pytest.mark.parametrize("shape", [(1, 12), (1, 12, 1), (1, 3, 4), (1, 1, 12)])
def test_a_clip_without_a_batch_is_a_sample(shape):
    spec = TensorSpec("x", TensorType(DType.F32, shape))
    made = make_samples({"x": np.arange(12, dtype=np.float32)}, [spec], "inputs")
    assert made.each[0][0].shape == shape
    with pytest.raises(InputError, match="has shape"):
        make_samples({"x": np.arange(13, dtype=np.float32)}, [spec], "inputs")


@pytest.mark.cc
def test_labels_have_one_spelling():
    images = np.load(DEMO / "digits_test.npz")["image"][:20]
    labels = np.load(DEMO / "digits_labels.npy")[:20]
    model = DEMO / "digits.tflite"
    beside = deploy.verify(model, board="host", inputs={"image": images}, labels=labels)
    among = deploy.verify(model, board="host", inputs={"image": images, "labels": labels})
    assert beside.accuracy is not None
    assert beside.accuracy == among.accuracy
    for report in (
        deploy.report(model, "host", data={"image": images}, labels=labels),
        deploy.report(model, "host", data={"image": images, "labels": labels}),
    ):
        assert report.as_json()["data"]["accuracy"] == beside.accuracy.reference


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
def test_an_odd_calibration_is_named(name):
    values, text = CALIBRATIONS[name]
    assert text in "\n".join(calibration_doubts(samples(values), {"x": NOISE[0]}))


def test_a_usual_calibration_is_not():
    assert calibration_doubts(samples(NOISE), {"x": NOISE[0]}) == ()
    assert calibration_doubts(samples(NOISE), {"x": np.zeros_like(NOISE[0])}) == (), "an example of zeros"
    assert calibration_doubts(samples(digits())) == (), "a black background is no clipping"
    assert calibration_doubts([{"ids": np.array([[1, 1]])}]) == ()


def test_a_model_that_guesses_is_named():
    assert "about chance" in chance_doubts(0.12, 10, "PyTorch")[0]
    assert chance_doubts(0.35, 10, "PyTorch") == chance_doubts(None, 10, "PyTorch") == ()
    assert chance_doubts(0.7, 2, "PyTorch") == ()


def test_floats_beyond_the_models_range_are_named(capsys):
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


class SomeModule:
    """A module of a PyTorch that is not there."""


FUNCTIONS: dict[str, Callable[[Any, Path], object]] = {
    "load": lambda model, _: deploy.load(model),
    "inspect": lambda model, _: deploy.inspect(model),
    "report": lambda model, _: deploy.report(model, "mps2-an386"),
    "explore": lambda model, _: deploy.explore(model, "mps2-an386"),
    "explore several": lambda model, _: deploy.explore([model], "mps2-an386"),
    "diff": lambda model, _: deploy.diff(model, model),
    "run": lambda model, _: deploy.run(model, board="host"),
    "export": lambda model, path: deploy.export(model, "cmake", path, board="host"),
    "evidence": lambda model, _: deploy.evidence(model, board="host"),
    "quantize": lambda model, path: deploy.quantize(model, {}, path / "int8.onnx"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_module_is_refused_with_what_to_do(name, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(nn=SimpleNamespace(Module=SomeModule)))
    refused(
        lambda: FUNCTIONS[name](SomeModule(), tmp_path),
        "PyTorch module model file = deploy.compile(module board= example=torch.zeros(1 3 32 "
        "compiled.save(path archive writes",
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_number_is_refused_by_its_type(name, tmp_path):
    with pytest.raises(deploy.DeployError, match=r"a model must be a path .* not a int"):
        FUNCTIONS[name](3, tmp_path)
