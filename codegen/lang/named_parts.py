"""Looks up loops or tensors of a kernel by name. The error for an unknown name shows the user's line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from codegen.lang.misuse import misuse

T = TypeVar("T")


class NamedParts(dict[str, T]):
    """A mapping whose error for an unknown key lists the known ones."""

    def __init__(self, proc: str, what: str, found: Mapping[str, T]) -> None:
        super().__init__(found)
        self._proc, self._what = proc, what

    def __missing__(self, name: str) -> T:
        raise misuse(f"{self._proc} has no {self._what} {name}", f"{self._what}s: {', '.join(self)}")
