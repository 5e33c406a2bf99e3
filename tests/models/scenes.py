"""Coloured pictures of drawn shapes, of any size, and the boxes around them: what the finder learns from."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

CLASSES = ("circle", "square", "triangle")
SMALLEST, LARGEST = 12, 60  # pixels of a shape's longer side
Bytes = npt.NDArray[np.uint8]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Drawn:
    """One shape, its middle and its size in pixels. A circle may be an ellipse, a square a rectangle."""

    kind: int
    x: float
    y: float
    width: float
    height: float

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, right, bottom."""
        across, down = self.width / 2, self.height / 2
        return self.x - across, self.y - down, self.x + across, self.y + down

    def covers(self, size: int) -> npt.NDArray[np.bool_]:
        """The pixels of a picture of that size that are the shape's."""
        y, x = np.mgrid[:size, :size] + 0.5
        across, down = (x - self.x) / self.width * 2, (y - self.y) / self.height * 2  # -1 to 1
        inside = np.maximum(np.abs(across), np.abs(down)) <= 1
        kinds: tuple[npt.NDArray[np.bool_], ...] = (
            across**2 + down**2 <= 1,
            inside,
            inside & (np.abs(across) <= (down + 1) / 2),
        )
        return kinds[self.kind]


def scene(rng: np.random.Generator, size: int, count: int) -> tuple[Bytes, list[Drawn]]:
    """A picture with up to `count` shapes that do not touch, on a background from one colour to another."""
    picture = _background(rng, size)
    shapes: list[Drawn] = []
    for _ in range(20 * count):
        shape = _shape(rng, size)
        if len(shapes) < count and all(_apart(shape, other) for other in shapes):
            shapes.append(shape)
            pixels = shape.covers(size)
            picture[pixels] += _ink(rng, picture[pixels].mean(axis=0))
    picture += rng.normal(0, rng.uniform(1, 6), (size, size, 1))
    return np.clip(np.round(picture), 0, 255).astype(np.uint8), shapes


def _background(rng: np.random.Generator, size: int) -> FloatArray:
    first, last = rng.uniform(30, 225, (2, 3))
    direction = rng.uniform(-1, 1, 2)
    y, x = np.mgrid[:size, :size] / size - 0.5
    share = np.clip(direction[0] * x + direction[1] * y + 0.5, 0, 1)[..., None]
    result: FloatArray = first + (last - first) * share * rng.uniform(0, 1)
    return result


def _shape(rng: np.random.Generator, size: int) -> Drawn:
    longer = np.exp(rng.uniform(np.log(SMALLEST), np.log(LARGEST)))
    shorter = longer * rng.uniform(0.6, 1)
    width, height = (longer, shorter) if rng.integers(2) else (shorter, longer)
    x = rng.uniform(width / 2 + 1, size - width / 2 - 1)
    y = rng.uniform(height / 2 + 1, size - height / 2 - 1)
    return Drawn(int(rng.integers(len(CLASSES))), float(x), float(y), float(width), float(height))


def _apart(one: Drawn, other: Drawn) -> bool:
    across = abs(one.x - other.x) - (one.width + other.width) / 2
    down = abs(one.y - other.y) - (one.height + other.height) / 2
    return max(across, down) > 3


def _ink(rng: np.random.Generator, under: FloatArray) -> FloatArray:
    """A change of colour that is seen: each colour away from its nearer end, one at least by 60."""
    away = np.where(under < 128, 1, -1) * rng.uniform(0, 110, 3)
    away[rng.integers(3)] = np.where(under.mean() < 128, 1, -1) * rng.uniform(60, 110)
    return away
