"""The functions of the C library that hand-written functions of floats call: their code and stack.

The bytes are those of newlib, as gcc 12.2 links each alone for a Cortex-M4, M55 and M3, with the
functions that it calls; `PartBytes.library` scales them for other cores.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from aot.target import Feature, Target
from codegen.c.tree import AnyHelper


class Reals(IntEnum):
    """The hardware for floats: the column of a table."""

    SINGLE = 0
    DOUBLE = 1  # the C library then has shorter functions of doubles
    NONE = 2

    @staticmethod
    def of(target: Target) -> Reals:
        return next(reals for needs, reals in _BY_FEATURES if needs <= target.features)


_BY_FEATURES: tuple[tuple[frozenset[Feature], Reals], ...] = (  # the first that a core has
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
    "floor": (2700, 24, 2000),  # with the division of doubles that it is called for
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
# That any of them reduces. A cosine alone on an FPU takes 4,016; in whole models it is this that is near.
_LARGE_ANGLES_BYTES = (3400, 1356, 4576)
_OF_BITS = frozenset({"ceilf", "floorf", "rintf"})  # these compute with integers
# The stack of one: a part of what others take on that kind of core, and bytes beside.
_STACK_SHARES = {**dict.fromkeys(_OF_BITS, 0.0), "expm1f": 0.5, "floor": 0.5, "sqrtf": 0.5}
_MORE_STACK_BYTES = {"floor": 40, "powf": 24}


def library_calls(helpers: Iterable[AnyHelper]) -> frozenset[str]:
    """The functions of the table that the helpers call."""
    return frozenset(name for each in helpers for name in each.library_calls if name in _BYTES)


def library_bytes(called: frozenset[str], reals: Reals) -> int:
    """The code of these functions, with what they share once."""
    return sum(_BYTES[name][reals] for name in called) + _LARGE_ANGLES_BYTES[reals] * bool(called & ANGLES)


def computes_reals(called: frozenset[str]) -> bool:
    """Some of them need products and sums of floats, which without an FPU are functions, too."""
    return bool(called - _OF_BITS)


def library_stack_bytes(called: frozenset[str], each: float) -> float:
    """The stack of the deepest of these functions, where most take `each` bytes."""
    found = (_STACK_SHARES.get(name, 1.0) * each + _MORE_STACK_BYTES.get(name, 0) for name in called)
    return max(found, default=0.0)
