"""Texts of others, such as names in files and words of devices, made safe to show on a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text with escapes in place of the characters that would command the terminal that shows it."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
