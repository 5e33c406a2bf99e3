"""Loops of layers that take much of the time are unrolled further than those of others."""

from __future__ import annotations

UNROLLED_HOT = 16  # in layers that take much of the time
_HOT_MACS = 300_000


def is_hot(macs: int) -> bool:
    """True where a layer takes so much of the time that unrolling it further is worth the code."""
    return macs >= _HOT_MACS
