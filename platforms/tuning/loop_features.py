"""Makes a cost model's features of points: the knobs, and how they divide the loops of the kernel.

No kernel is made for it: that takes milliseconds, for ten thousand points half a minute. What decides is
known before: how many tiles a loop is cut into, what is left over, how many sums a tile has, how many loads
serve each product, how much is written out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aot.ir.types import Array
from codegen.kernels.knobs import Point, Space


def features(space: Space, points: Sequence[Point]) -> Array:
    """Makes a row of numbers for each point, of one length for the whole space."""
    names = [knob.name for knob in space.knobs]
    values = np.array([[point[name] for name in names] for point in points], np.float64)
    extents = np.array([space.extents.get(name, 0) for name in names], np.float64)
    divides = extents > 0
    tiles, loops = values[:, divides], extents[divides]
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
