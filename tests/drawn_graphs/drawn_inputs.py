"""Inputs that are not centred: means of many deviations, constants, steps, tiny and huge numbers."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Shape = tuple[int, ...]
Random = np.random.Generator


def far(mean: float) -> Callable[[Random, Shape], Array]:
    return lambda rng, shape: mean + rng.normal(size=shape)


def steps(rng: Random, shape: Shape) -> Array:
    """One number up to a place, another from it."""
    flat = np.full(int(np.prod(shape)), rng.normal() * 10)
    flat[rng.integers(0, flat.size) :] = rng.normal() * 1000
    return flat.reshape(shape)


INPUTS: Mapping[str, Callable[[Random, Shape], Array]] = {
    "centred": far(0.0),
    "mean 10": far(10.0),
    "mean 100": far(-100.0),
    "mean 1000": far(1000.0),
    "constant": lambda rng, shape: np.full(shape, rng.normal() * 100),
    "steps": steps,
    "tiny": lambda rng, shape: rng.normal(size=shape) * 1e-6,
    "huge": lambda rng, shape: rng.normal(size=shape) * 1e5,
}


def drawn_input(rng: Random, kind: str, shape: Shape) -> Array:
    return np.asarray(INPUTS[kind](rng, shape), np.float32)
