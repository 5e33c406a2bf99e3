"""What all Helium code needs: the core's vectors, the compiler's header."""

from __future__ import annotations

from aot.target import Feature

NEEDS = frozenset({Feature.MVE})
ANY_WORDS = NEEDS | {Feature.UNALIGNED}  # where it reads words that begin between their own addresses
INCLUDES = ("arm_mve.h",)
