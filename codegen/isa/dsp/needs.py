"""The core features that code of the DSP extension needs."""

from __future__ import annotations

from aot.target import Feature

NEEDS = frozenset({Feature.DSP})
ANY_WORDS = NEEDS | {Feature.UNALIGNED}  # with unaligned 32-bit loads


def needs_of(is_aligned: bool) -> frozenset[Feature]:
    """Returns the needs of a tile; `is_aligned` if all its 32-bit loads are aligned."""
    return NEEDS if is_aligned else ANY_WORDS
