"""How far apart the elements of a tensor lie in flat memory."""

from __future__ import annotations

from collections.abc import Sequence


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """How far apart neighbours along each dimension lie in a flat tensor."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))
