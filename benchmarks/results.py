"""results.json: what was measured, without what changes from run to run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from benchmarks.cases import RESULTS


@dataclass(frozen=True, slots=True)
class Result:
    model: str
    board: str
    optimize: str
    compiler: str
    macs: int
    instructions: int
    cycles: int | None  # by the model; None for cores without a table and runs that are too long
    arena_bytes: int
    stack_bytes: int | None
    code_bytes: int
    constants_bytes: int

    @property
    def key(self) -> tuple[str, str, str]:
        return self.model, self.board, self.optimize


def read_results() -> tuple[Result, ...]:
    return tuple(Result(**facts) for facts in json.loads(RESULTS.read_text()))


def write_results(results: Iterable[Result]) -> None:
    RESULTS.write_text(json.dumps([asdict(result) for result in results], indent=1) + "\n")
