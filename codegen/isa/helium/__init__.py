"""Requirements of all Helium code: the core's vectors, and the compiler's header of their C types."""

from __future__ import annotations

from aot.target import Feature

NEEDS = frozenset({Feature.MVE})
ANY_WORDS = NEEDS | {Feature.UNALIGNED}  # with unaligned 32-bit loads
INCLUDES = ("arm_mve.h",)
INT32X4 = "int32x4_t"  # a vector of four lanes
