"""Formats a number with a noun: 1 layer, 2 layers."""

from __future__ import annotations


def counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
