"""Words in messages: a number with its noun, and foreign text made safe to print."""

from __future__ import annotations


def counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def printable(text: str) -> str:
    """Returns the text with control characters escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def harmless(text: str) -> str:
    """Returns the text with control characters escaped except line ends and tabs."""
    return "".join(c if c in "\n\r\t" else printable(c) for c in text)
