"""Trains the bundled model on scikit-learn's handwritten digits and writes deploy/demo/digits*.

    python tests/models/make_digits.py

Takes some seconds. Seeded: the same machine gives the same bytes; another BLAS may round another way.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tflite_builder import ModelBuilder
from training import Conv, Dense, Floats, Layer, MaxPool, activations, train

from aot.ir.types import Array

DEMO = Path(__file__).resolve().parents[2] / "deploy" / "demo"
SEED = 20
EPOCHS = 40
HELD_OUT = 360
PIXEL_LIMIT = 16  # scikit-learn's pixels are whole numbers from 0 to 16
INPUT_SCALE, INPUT_ZERO_POINT = 1 / 255, -128


@dataclass(frozen=True)
class Digits:
    """Images as fractions of full ink, (samples, 8, 8, 1), and what they show."""

    images: Floats
    labels: npt.NDArray[np.int64]

    def __getitem__(self, chosen: slice | Array) -> Digits:
        return Digits(self.images[chosen], self.labels[chosen])


def load_digits() -> tuple[Digits, Digits]:
    """Training and held-out samples."""
    # An optional package: only making the model again needs it.
    from sklearn import datasets

    bunch = datasets.load_digits()
    images = (bunch.images / PIXEL_LIMIT).astype(np.float32)[..., None]
    everything = Digits(images, bunch.target.astype(np.int64))
    order = np.random.default_rng(SEED).permutation(len(images))
    return everything[order[HELD_OUT:]], everything[order[:HELD_OUT]]


def train_network(samples: Digits) -> list[Layer]:
    rng = np.random.default_rng(SEED)
    layers: list[Layer] = [
        Conv(rng, (3, 3, 1, 8)),
        Conv(rng, (3, 3, 8)),
        Conv(rng, (1, 1, 8, 24)),
        MaxPool(),
        Dense(rng, 4 * 4 * 24, 10),
    ]
    train(layers, samples.images, samples.labels, rng, EPOCHS)
    return layers


def quantise(layers: list[Layer], samples: Digits) -> bytes:
    """The network as an int8 TFLite model; ranges are what the samples show."""
    first, depthwise, pointwise, _, dense = layers
    assert isinstance(first, Conv)
    assert isinstance(depthwise, Conv)
    assert isinstance(pointwise, Conv)
    assert isinstance(dense, Dense)
    values = activations(layers, samples.images)
    build = ModelBuilder("digits")
    x = build.input("image", (1, 8, 8, 1), INPUT_SCALE, INPUT_ZERO_POINT)

    weights = first.weights.transpose(3, 0, 1, 2)
    x = build.conv2d(x, **arguments(build, x, weights, first.bias, values[1], axis=0), activation="RELU")
    weights = depthwise.weights[None]
    x = build.depthwise_conv2d(
        x, **arguments(build, x, weights, depthwise.bias, values[2], axis=3), activation="RELU"
    )
    weights = pointwise.weights.transpose(3, 0, 1, 2)
    x = build.conv2d(x, **arguments(build, x, weights, pointwise.bias, values[3], axis=0), activation="RELU")
    x = build.reshape(build.pool2d("MAX", x, (2, 2)), (1, dense.weights.shape[0]))
    x = build.fully_connected(x, **arguments(build, x, dense.weights.T, dense.bias, values[5], axis=None))
    return build.finish(build.softmax(x, name="digit"))


def arguments(
    build: ModelBuilder, x: str, weights: Floats, bias: Floats, result: Floats, axis: int | None
) -> dict[str, Any]:
    """Arguments for the builder: int8 weights, int32 bias, scales (one per channel of `axis`), range."""
    others = tuple(i for i in range(weights.ndim) if i != axis)
    scales = (np.abs(weights).max(axis=others, keepdims=True) / 127).astype(np.float32)
    input_scale = build.tensors[x].scales[0]
    scale, zero_point = _range(result)
    return {
        "weights": np.round(weights / scales).astype(np.int8),
        "bias": np.round(bias / (scales.ravel() * input_scale)).astype(np.int32),
        "weight_scales": [float(s) for s in scales.ravel()],
        "scale": scale,
        "zero_point": zero_point,
    }


def _range(values: Floats) -> tuple[float, int]:
    """Scale and zero point with which int8 spans what was seen, 0 included."""
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    scale = (high - low) / 255
    return scale, round(-128 - low / scale)


def quantised_images(samples: Digits) -> Array:
    """The images as the model's int8 input, one more leading axis for the samples."""
    pixels = np.round(samples.images / INPUT_SCALE) + INPUT_ZERO_POINT
    return pixels.astype(np.int8)[:, None]


def make() -> dict[str, bytes]:
    """File name -> bytes of the model, the held-out samples and their labels."""
    seen, held_out = load_digits()
    samples, labels = io.BytesIO(), io.BytesIO()
    np.savez_compressed(samples, image=quantised_images(held_out))
    np.save(labels, held_out.labels.astype(np.uint8))
    return {
        "digits.tflite": quantise(train_network(seen), seen),
        "digits_test.npz": samples.getvalue(),
        "digits_labels.npy": labels.getvalue(),
    }


if __name__ == "__main__":
    for file_name, data in make().items():
        (DEMO / file_name).write_bytes(data)
