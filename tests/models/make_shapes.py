"""Trains a small detector of drawn shapes, with a head as YOLOv5's, and writes tests/models/shapes.tflite.

    PYTHONPATH=.:tests/models python tests/models/make_shapes.py

Takes less than a minute. Seeded: the same machine gives the same bytes; another BLAS may round another way.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from make_digits import arguments
from tflite_builder import ModelBuilder
from training import Adam, Conv, Floats, Layer, MaxPool, activations

PLACE = Path(__file__).with_name("shapes.tflite")
CLASSES = ("circle", "square", "triangle")
SIZE, STRIDE, ANCHOR = 48, 8, 16  # pixels: of the picture, of a cell, of a box's usual side
CELLS = SIZE // STRIDE
BACK = f"ultralytics.yolov5:conf_thres=0.25,iou_thres=0.4,max_det=8,anchors={ANCHOR}/{ANCHOR}"
FRONT = f"tf.image:width={SIZE},height={SIZE},format=gray,scale={1 / 255}"
NUMBERS = 5 + len(CLASSES)
STEPS, BATCH, RATE = 900, 24, 0.006
SEED = 18


@dataclass(frozen=True)
class Shape:
    """One drawn thing, in pixels; the box around it is a square."""

    kind: int
    x: float
    y: float
    side: float

    @property
    def box(self) -> tuple[float, float, float, float]:
        half = self.side / 2
        return self.x - half, self.y - half, self.x + half, self.y + half


def drawn(rng: np.random.Generator, count: int | None = None) -> tuple[npt.NDArray[np.uint8], list[Shape]]:
    """A noisy gray picture of one to three shapes that do not touch, lighter or darker than the rest."""
    wanted = int(rng.integers(1, 4)) if count is None else count
    back = rng.uniform(40, 215)
    picture = np.full((SIZE, SIZE), back) + rng.normal(0, 6, (SIZE, SIZE))
    shapes: list[Shape] = []
    for _ in range(60):
        side = rng.uniform(10, 22)
        x, y = rng.uniform(side / 2 + 1, SIZE - side / 2 - 1, 2)
        shape = Shape(int(rng.integers(len(CLASSES))), float(x), float(y), float(side))
        if len(shapes) < wanted and all(_apart(shape, other) for other in shapes):
            shapes.append(shape)
            ink = rng.uniform(60, 110) * (1 if back < 128 else -1)
            picture[_inside(shape)] += ink
    return np.clip(np.round(picture), 0, 255).astype(np.uint8), shapes


def _apart(one: Shape, other: Shape) -> bool:
    return max(abs(one.x - other.x), abs(one.y - other.y)) > (one.side + other.side) / 2 + 2


def _inside(shape: Shape) -> npt.NDArray[np.bool_]:
    y, x = np.mgrid[:SIZE, :SIZE] + 0.5
    across, down = (x - shape.x) / shape.side * 2, (y - shape.y) / shape.side * 2  # -1 to 1
    in_square = np.maximum(np.abs(across), np.abs(down)) <= 1
    drawn_as: tuple[npt.NDArray[np.bool_], ...] = (
        across**2 + down**2 <= 1,
        in_square,
        in_square & (np.abs(across) <= (down + 1) / 2),
    )
    return drawn_as[shape.kind]


class Head(Layer):
    """The numbers of each cell: weights (inputs, outputs) and bias, no activation."""

    def __init__(self, rng: np.random.Generator, inputs: int, outputs: int) -> None:
        self.weights = rng.normal(0, np.sqrt(1 / inputs), (inputs, outputs)).astype(np.float32)
        self.bias = np.zeros(outputs, np.float32)
        self.bias[4] = -2  # most cells have nothing
        self.parameters = (self.weights, self.bias)

    def forward(self, x: Floats) -> Floats:
        self.x = x
        return np.asarray(x @ self.weights + self.bias)

    def backward(self, grad: Floats) -> Floats:
        axes = ((0, 1, 2), (0, 1, 2))
        self.gradients = (np.tensordot(self.x, grad, axes=axes), grad.sum(axis=(0, 1, 2)))
        return np.asarray(grad @ self.weights.T)


def targets(shapes: list[Shape]) -> Floats:
    """For each cell: the middle in it and the root of the size, 0 to 1; if there is one; its class."""
    wanted = np.zeros((CELLS, CELLS, NUMBERS), np.float32)
    for shape in shapes:
        column, row = int(shape.x / STRIDE), int(shape.y / STRIDE)
        middle = [(shape.x / STRIDE - column + 0.5) / 2, (shape.y / STRIDE - row + 0.5) / 2]
        size = [np.sqrt(shape.side / ANCHOR) / 2] * 2
        classes = np.eye(len(CLASSES))[shape.kind]
        wanted[row, column] = [*middle, *size, 1, *classes]
    return wanted


def gradient(numbers: Floats, wanted: Floats) -> Floats:
    """The gradient of boxes' squared errors and of cross-entropies."""
    found = 1 / (1 + np.exp(-numbers))
    is_there = wanted[..., 4:5]
    grad = (found - wanted) * is_there
    grad[..., :4] *= 40 * (found * (1 - found))[..., :4]
    grad[..., 4] = found[..., 4] - wanted[..., 4]
    return np.asarray(grad / len(numbers), np.float32)


def trained(rng: np.random.Generator) -> list[Layer]:
    layers: list[Layer] = [
        Conv(rng, (3, 3, 1, 8)),
        MaxPool(),
        Conv(rng, (3, 3, 8)),
        Conv(rng, (1, 1, 8, 16)),
        MaxPool(),
        Conv(rng, (3, 3, 16)),
        Conv(rng, (1, 1, 16, 32)),
        MaxPool(),
        Conv(rng, (3, 3, 32)),
        Conv(rng, (1, 1, 32, 32)),
        Head(rng, 32, NUMBERS),
    ]
    adam = Adam(rate=RATE)
    for step in range(STEPS):
        adam.rate = RATE * (1 - step / STEPS)
        images, wanted = batch_of(rng)
        grad = gradient(activations(layers, images)[-1], wanted)
        for layer in reversed(layers):
            grad = layer.backward(grad)
        adam.step(layers)
    return layers


def batch_of(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """New pictures, and what the network should say of them."""
    samples = [drawn(rng) for _ in range(BATCH)]
    images = np.stack([picture for picture, _ in samples])[..., None] / 255
    return images.astype(np.float32), np.stack([targets(shapes) for _, shapes in samples])


def quantised(layers: list[Layer], images: Floats) -> bytes:
    """The network as an int8 TFLite model; ranges are what some pictures show."""
    values = activations(layers, images)
    build = ModelBuilder("shapes")
    x = build.input("picture", (1, SIZE, SIZE, 1), 1 / 255, -128)
    for number, layer in enumerate(layers, 1):
        if isinstance(layer, MaxPool):
            x = build.pool2d("MAX", x, (2, 2))
        elif isinstance(layer, Head):
            weights = layer.weights.T[:, None, None]
            x = build.conv2d(x, **arguments(build, x, weights, layer.bias, values[number], axis=0))
        elif isinstance(layer, Conv) and layer.depthwise:
            kernel = arguments(build, x, layer.weights[None], layer.bias, values[number], axis=3)
            x = build.depthwise_conv2d(x, **kernel, activation="RELU")
        else:
            assert isinstance(layer, Conv)
            weights = layer.weights.transpose(3, 0, 1, 2)
            kernel = arguments(build, x, weights, layer.bias, values[number], axis=0)
            x = build.conv2d(x, **kernel, activation="RELU")
    return build.finish(x)


if __name__ == "__main__":
    numbers = np.random.default_rng(SEED)
    network = trained(numbers)
    PLACE.write_bytes(quantised(network, np.concatenate([batch_of(numbers)[0] for _ in range(8)])))
