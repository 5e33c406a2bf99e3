"""Names of functions that are written for certain numbers: the numbers' checksum tells them apart."""

from __future__ import annotations

from zlib import crc32

_MARK = "@"  # no identifier of C has it, so that a marked name is found in a text without reading C
_DIGITS = 8


def numbered_name(base: str, *numbers: object) -> str:
    """The name of a function that is written for these numbers: other numbers, another function.

    The mark is none of C. A file gives each such function a name of its own when it is printed; for that, a
    definition may name only itself and what it `calls`.
    """
    return f"{base}{_MARK}{crc32(repr(numbers).encode()):0{_DIGITS}x}"


def in_name(value: int) -> str:
    """A number as part of a name in C: m4 for -4."""
    return f"m{-value}" if value < 0 else str(value)


def without_mark(name: str) -> str:
    """The name for a reader, which others may have too."""
    first, *others = name.split(_MARK)
    return first + "".join(part[_DIGITS:] for part in others)
