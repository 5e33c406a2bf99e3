"""The features of a core that code of the DSP extension needs."""

from __future__ import annotations

from aot.target import Feature

NEEDS = frozenset({Feature.DSP})
ANY_WORDS = NEEDS | {Feature.UNALIGNED}  # where it reads words that begin between their own addresses


def needs_of(is_aligned: bool) -> frozenset[Feature]:
    """The needs of a tile; `is_aligned` where all of its words begin at their own addresses."""
    return NEEDS if is_aligned else ANY_WORDS
