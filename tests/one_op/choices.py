"""Choices that hypothesis makes, behind the interface of NumPy's generator: what fails shrinks."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from aot.ir.types import Array


class Choices:
    """Single numbers and orders are hypothesis's own; arrays of values hang on one number of its."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw

    def integers(self, low: int, high: int | None = None, size: Any = None, endpoint: bool = False) -> Any:
        least, beyond = (0, low) if high is None else (low, high)
        if size is None:
            return self.draw(st.integers(int(least), int(beyond) - (not endpoint)))
        return self._values().integers(least, beyond, size, endpoint=endpoint)

    def random(self) -> float:
        """In steps of 1/64, so that it shrinks as an integer does."""
        return float(self.draw(st.integers(0, 63))) / 64

    def uniform(self, low: float, high: float) -> float:
        return low + (high - low) * self.random()

    def normal(self, mean: float, spread: float, size: Any) -> Array:
        return self._values().normal(mean, spread, size)

    def permutation(self, x: Any) -> Array:
        items = list(range(x)) if isinstance(x, int) else list(x)
        return np.asarray(self.draw(st.permutations(items)))

    def _values(self) -> np.random.Generator:
        return np.random.default_rng(self.draw(st.integers(0, 255)))
