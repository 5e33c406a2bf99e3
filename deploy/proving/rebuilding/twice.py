"""Compares the hashes of repeated builds."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from aot.errors import ToolError


@dataclass(frozen=True, slots=True)
class RebuildResult:
    """`hashes` has a SHA-256 for each build; `names` lists the parts that differ."""

    what: str
    hashes: tuple[str, ...]
    names: tuple[str, ...] = ()

    @property
    def is_same(self) -> bool:
        return len(set(self.hashes)) == 1

    @property
    def says(self) -> str:
        if self.is_same:
            return f"the same {len(self.hashes)} times"
        return "differs" + (f": {', '.join(self.names)}" if self.names else "")


def twice(what: str, made: Sequence[bytes], names: Sequence[str] = ()) -> RebuildResult:
    """Compares builds. Raises ToolError if one is empty, because empty builds are always equal."""
    if not all(made):
        raise ToolError(f"the {what} that was made is empty")
    return RebuildResult(what, tuple(hashlib.sha256(each).hexdigest() for each in made), tuple(names))
