"""Mutation test results of the compiler, counted by `make mutants` in the source tree."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files

_FILE = "mutants.json"  # written by tests/mutants/try_changes.py --store


@dataclass(frozen=True, slots=True)
class MutationScore:
    """A package of the source tree, with the number of mutations tried."""

    room: str
    solder: str  # the version tested
    possible: int  # possible mutations, of which a reproducible sample is tried
    changes: int
    seen: int  # a test fails
    with_reason: int  # no test fails, and there is a reason why the change is not observable
    survivors: tuple[str, ...]  # no test fails, without a known reason

    @property
    def unseen(self) -> int:
        return self.changes - self.seen - self.with_reason


def mutation_scores() -> tuple[MutationScore, ...]:
    """Returns the packages tested, sorted by name."""
    stored = json.loads((files("deploy.proving.confidence") / _FILE).read_text(encoding="utf-8"))
    return tuple(
        MutationScore(room, **{**score, "survivors": tuple(score["survivors"])})
        for room, score in sorted(stored.items())
    )
