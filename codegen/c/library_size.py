"""The functions of the C library that hand-written functions of real numbers call: how much code they bring.

The bytes are those of newlib for a core with an FPU; `PartBytes.library` scales them for other cores.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

_BYTES = {
    "acosf": 750,
    "asinf": 670,
    "atanf": 480,
    "atanhf": 1020,
    "coshf": 1600,
    "cosf": 150,
    "erff": 1460,
    "expf": 660,
    "floorf": 156,
    "fmodf": 470,
    "log1pf": 700,
    "logf": 650,
    "powf": 2430,
    "rintf": 200,
    "sinf": 170,
    "sinhf": 1660,
    "sqrtf": 110,
    "tanf": 190,
    "tanhf": 960,
}
_OF_ANGLES, _LARGE_ANGLES_BYTES = frozenset({"cosf", "sinf", "tanf"}), 2900  # that any of them reduces


def library_calls(definitions: Iterable[str]) -> frozenset[str]:
    """The functions of the table that the texts call."""
    return frozenset().union(*(_calls_in(text) for text in definitions))


@cache
def _calls_in(text: str) -> frozenset[str]:
    words = "".join([each if each.isalnum() or each == "_" else " " for each in text]).split()
    return frozenset(_BYTES) & frozenset(words)


def library_bytes(called: frozenset[str]) -> int:
    """The code of these functions, with what they share once."""
    return sum(_BYTES[name] for name in called) + _LARGE_ANGLES_BYTES * bool(called & _OF_ANGLES)
