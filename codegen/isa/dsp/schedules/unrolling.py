"""Unrolls loops further in layers that dominate the run time."""

from __future__ import annotations

UNROLLED_HOT = 16  # in hot layers
_HOT_MACS = 300_000


def is_hot(macs: int) -> bool:
    """Returns True if a layer needs so much time that further unrolling is worth the code."""
    return macs >= _HOT_MACS
