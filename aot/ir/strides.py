"""Strides of dense tensors, in elements."""

from __future__ import annotations

from collections.abc import Sequence


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Returns the distance, in elements, of neighbors along each dimension of a dense tensor."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))
