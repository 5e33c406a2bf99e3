"""Makes a cost model's features of points: the knobs, and how they divide the loops of the kernel.

No kernel is made for it: that takes milliseconds, for ten thousand points half a minute. What decides is
known before: how many tiles a loop is cut into, what is left over, how many sums a tile has, how many loads
serve each product, how much is written out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from aot.ir.types import Array
from codegen.kernels.knobs import Point, Space

_Numbers = NDArray[np.float64]
_HELD = 2.0 ** np.arange(7)  # turns of a loop that are held at once


def knob_values(space: Space, points: Sequence[Point]) -> _Numbers:
    """Makes a row of the knobs' values for each point."""
    return np.array([[point[knob.name] for knob in space.knobs] for point in points], np.float64)


def curves(space: Space, points: Sequence[Point]) -> Array:
    """Makes a row of the knobs' values and of two curves: what tiles bring, and how often loops go round.

    Each is a number for every size up to which turns are held at once, over all loops together.
    """
    values, tiles, loops = _divided(space, points)
    held = np.log2(np.minimum(tiles[:, :, None], _HELD)).sum(axis=1)
    rounds = np.log2(np.maximum((loops // tiles)[:, :, None] / _HELD, 1)).sum(axis=1)
    return np.hstack([values, held, rounds])


def _divided(space: Space, points: Sequence[Point]) -> tuple[_Numbers, _Numbers, _Numbers]:
    """The knobs' values; those that divide loops; and these loops."""
    values = knob_values(space, points)
    extents = np.array([space.extents.get(knob.name, 0) for knob in space.knobs], np.float64)
    return values, values[:, extents > 0], extents[extents > 0]


def features(space: Space, points: Sequence[Point]) -> Array:
    """Makes a row of numbers for each point, of one length for the whole space."""
    values, tiles, loops = _divided(space, points)
    parts = loops // tiles
    return np.hstack(
        [
            values,
            parts,
            loops - parts * tiles,  # what is left over
            np.log2(values).sum(axis=1, keepdims=True),  # what is written out
            np.log2(tiles).sum(axis=1, keepdims=True),  # what a tile holds
            (1 / tiles).sum(axis=1, keepdims=True),  # loads for each product
        ]
    )
