"""Trains a detector of two grids, with heads as YOLOv5's, on crops, and writes tests/models/finder_*.tflite.

    PYTHONPATH=.:tests/models python tests/models/make_finder.py

Takes some minutes. Its layers are convolutions alone: what 96 pixels have taught serves 160 and 320. Seeded:
the same machine gives the same bytes; another BLAS may round another way.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from make_digits import arguments
from make_shapes import Head
from scenes import CLASSES, Drawn, scene
from tflite_builder import ModelBuilder
from training import Adam, Conv, Floats, Layer, activations

from aot.ir.types import Array

FOLDER = Path(__file__).parent
SIZES = (160, 320)
CROP, MOST_SHAPES = 96, 4
STRIDES, ANCHORS = (8, 16), (18, 40)  # pixels: of each grid's cells, of its boxes' usual side
SIDES = ((0, 33), (24, 1000))  # pixels: from and below which a shape's longer side is the grid's; or both's
NUMBERS = 5 + len(CLASSES)
STEPS, BATCH, RATE = 2400, 16, 0.004
SEED = 21
SEEN = 48  # crops whose ranges the quantisation covers
MOST = 40  # boxes in a picture
BACK = f"ultralytics.yolov5:conf_thres=0.4,iou_thres=0.4,max_det={MOST},anchors=" + "/".join(
    f"{anchor}/{anchor}" for anchor in ANCHORS
)


def model_file(size: int) -> Path:
    return FOLDER / f"finder_{size}.tflite"


def front(size: int) -> str:
    return f"tf.image:width={size},height={size},format=rgb,scale={1 / 255}"


@dataclass(frozen=True)
class Found:
    """A box in pixels: left, top, right, bottom."""

    kind: int
    score: float
    box: tuple[float, float, float, float]


def found_in(outputs: Mapping[str, Array], size: int) -> list[list[Found]]:
    """The boxes of each picture of that size, best first, out of what the back end gives."""
    boxes, kinds, scores, counts = (array.reshape(-1) for array in outputs.values())
    corners = (boxes.astype(np.float64) * size).reshape(-1, 4).tolist()
    listed = [
        Found(int(kind), float(score), (left, top, right, bottom))
        for (left, top, right, bottom), kind, score in zip(corners, kinds, scores, strict=True)
    ]
    return [listed[MOST * n : MOST * n + count] for n, count in enumerate(counts.tolist())]


class Finder:
    """The layers up to the first grid, those from there to the second, and the head of each."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.parts: tuple[list[Layer], list[Layer]] = (
            [
                Conv(rng, (3, 3, 3, 8), 2),
                *_pair(rng, 8, 16),
                *_pair(rng, 16, 32, 2),
                *_pair(rng, 32, 32),
                *_pair(rng, 32, 48, 2),
                *_pair(rng, 48, 48),
            ],
            [*_pair(rng, 48, 64, 2), *_pair(rng, 64, 64), *_pair(rng, 64, 64)],
        )
        self.heads = (Head(rng, 48, NUMBERS), Head(rng, 64, NUMBERS))

    @property
    def layers(self) -> list[Layer]:
        return [*self.parts[0], *self.parts[1], *self.heads]

    def forward(self, images: Floats) -> tuple[list[Floats], list[Floats]]:
        """What goes in and what each layer of the parts gives, and the numbers of the heads."""
        first = activations(self.parts[0], images)
        second = activations(self.parts[1], first[-1])
        grids = [head.forward(part[-1]) for head, part in zip(self.heads, (first, second), strict=True)]
        return [*first, *second[1:]], grids

    def backward(self, gradients: list[Floats]) -> None:
        grad = np.zeros((), np.float32)
        for part, head, from_head in zip(self.parts[::-1], self.heads[::-1], gradients[::-1], strict=True):
            grad = grad + head.backward(from_head)
            for layer in reversed(part):
                grad = layer.backward(grad)


def _pair(rng: np.random.Generator, inputs: int, outputs: int, stride: int = 1) -> tuple[Conv, Conv]:
    return Conv(rng, (3, 3, inputs), stride), Conv(rng, (1, 1, inputs, outputs))


def targets(shapes: list[Drawn], number: int) -> Floats:
    """For each cell of a grid: middle in it and root of the size, 0 to 1; if there is one; its class."""
    stride, anchor, (least, most) = STRIDES[number], ANCHORS[number], SIDES[number]
    wanted = np.zeros((CROP // stride, CROP // stride, NUMBERS), np.float32)
    for shape in shapes:
        if not least <= max(shape.width, shape.height) < most:
            continue
        column, row = int(shape.x / stride), int(shape.y / stride)
        middle = [(shape.x / stride - column + 0.5) / 2, (shape.y / stride - row + 0.5) / 2]
        size = [np.sqrt(side / anchor) / 2 for side in (shape.width, shape.height)]
        wanted[row, column] = [*middle, *size, 1, *np.eye(len(CLASSES))[shape.kind]]
    return wanted


def gradient(numbers: Floats, wanted: Floats) -> Floats:
    """The gradient of boxes' squared errors and of cross-entropies."""
    found = 1 / (1 + np.exp(-numbers))
    is_there = wanted[..., 4:5]
    grad = (found - wanted) * is_there
    grad[..., :4] *= 40 * (found * (1 - found))[..., :4]
    grad[..., 4] = found[..., 4] - wanted[..., 4]
    return np.asarray(grad / len(numbers), np.float32)


def batch_of(rng: np.random.Generator, count: int) -> tuple[Floats, list[Floats]]:
    """New crops, and what each grid should say of them."""
    samples = [scene(rng, CROP, int(rng.integers(MOST_SHAPES + 1))) for _ in range(count)]
    images = (np.stack([picture for picture, _ in samples]) / 255).astype(np.float32)
    return images, [np.stack([targets(shapes, grid) for _, shapes in samples]) for grid in range(2)]


def trained(rng: np.random.Generator) -> Finder:
    finder, adam = Finder(rng), Adam(rate=RATE)
    for step in range(STEPS):
        adam.rate = RATE * (1 - step / STEPS)
        images, wanted = batch_of(rng, BATCH)
        _, grids = finder.forward(images)
        finder.backward([gradient(*pair) for pair in zip(grids, wanted, strict=True)])
        adam.step(finder.layers)
    return finder


def quantised(finder: Finder, images: Floats, size: int) -> bytes:
    """The network as an int8 TFLite model for pictures of that size; ranges are what the crops show."""
    values, grids = finder.forward(images)
    build = ModelBuilder("finder")
    x = build.input("picture", (1, size, size, 3), 1 / 255, -128)
    outputs, number = [], 0
    for part, head, grid in zip(finder.parts, finder.heads, grids, strict=True):
        for layer in part:
            assert isinstance(layer, Conv)
            number += 1
            stride = (layer.stride, layer.stride)
            if layer.depthwise:
                kernel = arguments(build, x, layer.weights[None], layer.bias, values[number], axis=3)
                x = build.depthwise_conv2d(x, **kernel, stride=stride, activation="RELU")
            else:
                weights = layer.weights.transpose(3, 0, 1, 2)
                kernel = arguments(build, x, weights, layer.bias, values[number], axis=0)
                x = build.conv2d(x, **kernel, stride=stride, activation="RELU")
        weights = head.weights.T[:, None, None]
        outputs.append(build.conv2d(x, **arguments(build, x, weights, head.bias, grid, axis=0)))
    return build.finish(*outputs)


if __name__ == "__main__":
    numbers = np.random.default_rng(SEED)
    network = trained(numbers)
    seen, _ = batch_of(numbers, SEEN)
    for pixels in SIZES:
        model_file(pixels).write_bytes(quantised(network, seen, pixels))
        sys.stdout.write(f"{model_file(pixels).name}\n")
