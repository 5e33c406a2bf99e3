"""Computes a cost model's features of points: the knobs, and how they divide the kernel's loops.

No kernel is built, which would cost milliseconds each, half a minute for ten thousand points. The deciding
facts are known without it: the number of tiles per loop, remainders, sums per tile, loads per product, and
the amount of unrolled code.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from aot.ir.types import Array
from codegen.kernels.knobs import Point, Space

_Numbers = NDArray[np.float64]
_HELD = 2.0 ** np.arange(7)  # limits on loop iterations held in registers


def knob_values(space: Space, points: Sequence[Point]) -> _Numbers:
    """Returns one row per point with the knobs' values."""
    return np.array([[point[knob.name] for knob in space.knobs] for point in points], np.float64)


def curves(space: Space, points: Sequence[Point]) -> Array:
    """Returns one row per point: the knobs' values and two curves, for tile benefit and loop overhead.

    Each curve has one value for every limit on the iterations held in registers, summed over all loops.
    """
    values, tiles, loops = _divided(space, points)
    held = np.log2(np.minimum(tiles[:, :, None], _HELD)).sum(axis=1)
    rounds = np.log2(np.maximum((loops // tiles)[:, :, None] / _HELD, 1)).sum(axis=1)
    return np.hstack([values, held, rounds])


def _divided(space: Space, points: Sequence[Point]) -> tuple[_Numbers, _Numbers, _Numbers]:
    """Returns the knobs' values, the subset that divides loops, and the extents of these loops."""
    values = knob_values(space, points)
    extents = np.array([space.extents.get(knob.name, 0) for knob in space.knobs], np.float64)
    return values, values[:, extents > 0], extents[extents > 0]


def features(space: Space, points: Sequence[Point]) -> Array:
    """Returns one row of features per point; all rows of a space have the same length."""
    values, tiles, loops = _divided(space, points)
    parts = loops // tiles
    return np.hstack(
        [
            values,
            parts,
            loops - parts * tiles,  # remainders
            np.log2(values).sum(axis=1, keepdims=True),  # unrolled code
            np.log2(tiles).sum(axis=1, keepdims=True),  # size of a tile
            (1 / tiles).sum(axis=1, keepdims=True),  # loads per product
        ]
    )
