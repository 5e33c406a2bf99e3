"""The bundled model is what its script makes, and it reads digits it was not trained on."""

import io

import make_digits
import numpy as np
import pytest
import tflite
from litert_oracle import run_litert

from aot.ir.types import Array

LEAST_ACCURACY = 0.96


def accuracy(model: bytes) -> float:
    images = np.load(make_digits.DEMO / "digits_test.npz")["image"]
    labels = np.load(make_digits.DEMO / "digits_labels.npy")
    return float(np.mean(answers(model, images) == labels))


def answers(model: bytes, images: Array) -> Array:
    return run_litert(model, images)[:, 0].argmax(axis=-1)


def tensor_shapes(model: bytes) -> list[tuple[str, list[int]]]:
    graph = tflite.Model.GetRootAs(model, 0).Subgraphs(0)
    tensors = [graph.Tensors(i) for i in range(graph.TensorsLength())]
    return [(t.Name().decode(), t.ShapeAsNumpy().tolist()) for t in tensors]


def test_the_bundled_model_reads_held_out_digits():
    assert accuracy((make_digits.DEMO / "digits.tflite").read_bytes()) > LEAST_ACCURACY


@pytest.mark.slow
def test_held_out_digits_are_not_among_those_trained_on(require_package):
    require_package("sklearn")
    seen, held_out = make_digits.load_digits()
    assert len(seen.labels) + len(held_out.labels) == 1797
    known = {image.tobytes() for image in seen.images}
    assert not [image for image in held_out.images if image.tobytes() in known]


@pytest.mark.slow
def test_the_script_makes_the_bundled_model(require_package):
    """Another BLAS rounds another way, so weights may differ a little; data, shape and skill may not."""
    require_package("sklearn", "ai_edge_litert")
    made = make_digits.make()
    bundled = (make_digits.DEMO / "digits.tflite").read_bytes()
    images = np.load(make_digits.DEMO / "digits_test.npz")["image"]

    assert np.array_equal(np.load(io.BytesIO(made["digits_test.npz"]))["image"], images)
    assert made["digits_labels.npy"] == (make_digits.DEMO / "digits_labels.npy").read_bytes()
    assert tensor_shapes(made["digits.tflite"]) == tensor_shapes(bundled)
    assert accuracy(made["digits.tflite"]) > LEAST_ACCURACY
    assert np.mean(answers(made["digits.tflite"], images) == answers(bundled, images)) > LEAST_ACCURACY
