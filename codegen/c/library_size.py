"""Code and stack of the C library's functions that hand-written float functions call.

The bytes are newlib's, as linked by gcc 12.2 one at a time for a Cortex-M4, M55 and M3, including callees.
`PartBytes.library` scales them for other cores.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from aot.target import Feature, Target
from codegen.c.tree import AnyHelper


class Reals(IntEnum):
    """The float hardware, which selects a column of a table."""

    SINGLE = 0
    DOUBLE = 1  # the C library's double functions are shorter then
    NONE = 2

    @staticmethod
    def of(target: Target) -> Reals:
        return next(reals for needs, reals in _BY_FEATURES if needs <= target.features)


_BY_FEATURES: tuple[tuple[frozenset[Feature], Reals], ...] = (  # the first match counts
    (frozenset({Feature.FPU, Feature.MVE}), Reals.DOUBLE),
    (frozenset({Feature.FPU}), Reals.SINGLE),
    (frozenset(), Reals.NONE),
)
_BYTES = {
    "acosf": (750, 758, 1054),
    "acoshf": (1493, 1517, 2025),
    "asinf": (670, 670, 1006),
    "asinhf": (1448, 1472, 1992),
    "atan2f": (848, 852, 880),
    "atanf": (480, 480, 580),
    "atanhf": (1020, 1045, 1257),
    "ceilf": (152, 8, 144),
    "cosf": (150, 496, 120),
    "coshf": (1600, 1685, 1889),
    "erff": (2548, 2696, 3104),
    "expf": (660, 728, 717),
    "expm1f": (768, 800, 972),
    "floor": (2700, 24, 2000),  # with the double division that it calls
    "floorf": (156, 8, 148),
    "fmodf": (470, 517, 473),
    "log1pf": (700, 736, 944),
    "logf": (650, 676, 810),
    "powf": (2430, 1624, 2805),
    "rintf": (200, 8, 192),
    "sinf": (170, 520, 124),
    "sinhf": (1660, 1741, 1933),
    "sqrtf": (110, 125, 313),
    "tanf": (190, 2690, 90),
    "tanhf": (960, 1000, 1168),
}
SIZED = frozenset(_BYTES)
ANGLES = frozenset({"cosf", "sinf", "tanf"})
# For range reduction in any of them. A single cosine on an FPU has 4,016; this value fits whole models.
_LARGE_ANGLES_BYTES = (3400, 1356, 4576)
_OF_BITS = frozenset({"ceilf", "floorf", "rintf"})  # computed with integers
# The stack of a function: a share of the typical stack on that kind of core, and additional bytes.
_STACK_SHARES = {**dict.fromkeys(_OF_BITS, 0.0), "expm1f": 0.5, "floor": 0.5, "sqrtf": 0.5}
_MORE_STACK_BYTES = {"floor": 40, "powf": 24}


def library_calls(helpers: Iterable[AnyHelper]) -> frozenset[str]:
    """Returns the functions of the table that the helpers call."""
    return frozenset(name for each in helpers for name in each.library_calls if name in _BYTES)


def library_bytes(called: frozenset[str], reals: Reals) -> int:
    """Returns the code bytes of these functions, including common parts once."""
    return sum(_BYTES[name][reals] for name in called) + _LARGE_ANGLES_BYTES[reals] * bool(called & ANGLES)


def uses_float(called: frozenset[str]) -> bool:
    """Returns True if some of them need float products and sums, which are functions without an FPU."""
    return bool(called - _OF_BITS)


def library_stack_bytes(called: frozenset[str], each: float) -> float:
    """Returns the stack of the deepest of these functions, if most need `each` bytes."""
    found = (_STACK_SHARES.get(name, 1.0) * each + _MORE_STACK_BYTES.get(name, 0) for name in called)
    return max(found, default=0.0)
