"""Names of functions that are specialized for certain numbers, with a checksum of the numbers."""

from __future__ import annotations

from zlib import crc32

_MARK = "@"  # not valid in C identifiers, so that marked names are found without parsing C
_DIGITS = 8


def mangle(base: str, *numbers: object) -> str:
    """Returns the name of a function that is specialized for these numbers.

    The mark is not valid in C. The printer replaces marked names by names unique in the file; therefore a
    definition may mention only itself and the functions that it `calls`.
    """
    return f"{base}{_MARK}{crc32(repr(numbers).encode()):0{_DIGITS}x}"


def in_name(value: int) -> str:
    """Returns a number as part of a C name: m4 for -4."""
    return f"m{-value}" if value < 0 else str(value)


def demangle(name: str) -> str:
    """Returns the name for readers, which need not be unique."""
    first, *others = name.split(_MARK)
    return first + "".join(part[_DIGITS:] for part in others)
