"""Parts of a kernel by name, its loops or its tensors: an unknown name is reported with its line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from codegen.lang.misuse import misuse

T = TypeVar("T")


class NamedParts(dict[str, T]):
    """A mapping that says which names there are where one is asked for that it has not."""

    def __init__(self, proc: str, what: str, found: Mapping[str, T]) -> None:
        super().__init__(found)
        self._proc, self._what = proc, what

    def __missing__(self, name: str) -> T:
        raise misuse(f"{self._proc} has no {self._what} {name}", f"{self._what}s: {', '.join(self)}")
