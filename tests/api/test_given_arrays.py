"""Inputs are taken as users have them: tensors, lists, loaders, clips; labels have one spelling."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deploy
from aot.errors import InputError
from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import DType, TensorType
from deploy.inputs.given_arrays import by_name, is_loader, plain, with_labels, without_labels
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


def test_a_tensor_is_an_array() -> None:
    assert np.array_equal(plain(FakeTensor(ROWS)), ROWS)
    assert list(by_name(FakeTensor(ROWS))) == ["input_0"]
    assert list(by_name([ROWS, ROWS])) == ["input_0", "input_1"]
    assert list(by_name({"x": FakeTensor(ROWS)})) == ["x"]


def test_a_loaders_batches_are_joined_with_their_labels() -> None:
    found = by_name(FakeLoader())
    assert set(found) == {"input_0", "labels"}
    assert np.array_equal(found["input_0"], ROWS)
    assert np.array_equal(found["labels"], CLASSES)


def test_the_labels_of_a_loader_are_no_input_of_a_run() -> None:
    model = deploy.load(DEMO / "digits.tflite")
    images = np.load(DEMO / "digits_test.npz")["image"][:4]
    batches: Any = iter([(images[:2], CLASSES[:2]), (images[2:], CLASSES[2:])])
    assert np.array_equal(model.run(batches)["digit"], model.run(images)["digit"])


def test_what_is_a_loader() -> None:
    assert is_loader(FakeLoader())
    assert is_loader(iter([ROWS]))
    for value in (ROWS, FakeTensor(ROWS), [ROWS], {"x": ROWS}, 3):
        assert not is_loader(value)


def test_things_without_numbers_are_refused() -> None:
    with pytest.raises(InputError, match="a object is not an array of numbers"):
        by_name(object())
    pairs = [(ROWS, CLASSES[0]), (ROWS, CLASSES[1])]
    with pytest.raises(InputError, match=r"(?s)a tuple is not an array.*for pairs: \[x for x, _"):
        plain(pairs[0])
    with pytest.raises(InputError, match="the list_iterator returned no batch"):
        by_name(iter([]))


def test_labels_are_beside_the_samples_or_among_them_and_not_both() -> None:
    inputs, labels = without_labels({"x": ROWS, "labels": CLASSES}, None)
    assert list(inputs) == ["x"]
    assert labels is CLASSES
    assert without_labels({"x": ROWS}, None)[1] is None
    assert np.array_equal(with_labels({"x": ROWS}, FakeTensor(CLASSES))["labels"], CLASSES)
    with pytest.raises(InputError, match="labels were given twice: as an argument and in the samples"):
        with_labels({"x": ROWS, "labels": CLASSES}, CLASSES)


@pytest.mark.parametrize("shape", [(1, 12), (1, 12, 1), (1, 3, 4), (1, 1, 12)])
def test_a_clip_without_a_batch_is_a_sample(shape: tuple[int, ...]) -> None:
    spec = TensorSpec("x", TensorType(DType.F32, shape))
    made = make_samples({"x": np.arange(12, dtype=np.float32)}, [spec], "inputs")
    assert made.each[0][0].shape == shape
    with pytest.raises(InputError, match="has shape"):
        make_samples({"x": np.arange(13, dtype=np.float32)}, [spec], "inputs")


@pytest.mark.cc
def test_labels_have_one_spelling() -> None:
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
