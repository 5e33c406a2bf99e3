"""Small changes of the compiler that its tests notice, as `make mutants` counted them in the source tree."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files

_FILE = "mutants.json"  # written by tests/mutants/try_changes.py --store


@dataclass(frozen=True, slots=True)
class MutationScore:
    """A part of the source tree and how many mutations of it were tried."""

    room: str
    solder: str  # the version that was tried
    possible: int  # changes of its code, of which a sample was tried, the same on every machine
    changes: int
    seen: int  # a test fails
    with_reason: int  # none does, and there is a reason why nobody could notice
    survivors: tuple[str, ...]  # none does, and no reason is known

    @property
    def unseen(self) -> int:
        return self.changes - self.seen - self.with_reason


def mutation_scores() -> tuple[MutationScore, ...]:
    """The rooms that were tried, by name."""
    stored = json.loads((files("deploy.proving.confidence") / _FILE).read_text(encoding="utf-8"))
    return tuple(
        MutationScore(room, **{**score, "survivors": tuple(score["survivors"])})
        for room, score in sorted(stored.items())
    )
