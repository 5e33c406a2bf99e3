"""Makes foreign text, such as names in files and device output, safe to print on a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """Returns the text with control characters escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
