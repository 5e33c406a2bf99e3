"""Positions that two loops visit: rows at equal distances, each with the same steps."""

from __future__ import annotations

import numpy as np

from aot.ops.rearrange import Loops
from aot.passes.values import Places


def loops_of(rows: Places) -> Loops | None:
    """Returns loops over rows [count, length] as an image of one column; None if they are irregular."""
    count, length = rows.shape
    first = rows[0]
    down = int(rows[1, 0] - rows[0, 0]) if count > 1 else length
    along = int(first[1] - first[0]) if length > 1 else 1
    made = first[0] + down * np.arange(count)[:, None] + along * np.arange(length)[None, :]
    if not (made == rows).all():
        return None
    return Loops((1, count, 1, length), (down * count, down, down, along), int(first[0]))
