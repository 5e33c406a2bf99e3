"""The distances of a tensor's elements in flat memory."""

from __future__ import annotations

from collections.abc import Sequence


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """The distances of neighbors along each dimension of a flat tensor."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))
