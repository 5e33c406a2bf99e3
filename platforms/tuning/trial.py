"""A trial: one point of a task, and the result of measuring it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from codegen.kernels.kernel import Kernel
from codegen.kernels.knobs import Point
from platforms.tuning.tasks import Experiment, Task


class Failure(Enum):
    """The reason why a candidate has no cost."""

    BUILD = "does not build"
    CRASH = "crashed"
    HANG = "hung"
    CORRUPTION = "wrote outside its result"
    WRONG = "wrong result"


@dataclass(frozen=True)
class Candidate:
    """A kernel to measure."""

    point: Point
    kernel: Kernel


@dataclass(frozen=True, slots=True)
class Outcome:
    """Counter ticks of each repeat, or the reason why there are none."""

    ticks: tuple[int, ...] = ()
    failure: Failure | None = None
    detail: str = ""
    seconds: float = 0.0  # this trial's share of build and measurement time

    @property
    def error(self) -> str:
        if self.failure is None:
            return ""
        return f"{self.failure.value}: {self.detail}" if self.detail else self.failure.value


@dataclass(frozen=True, slots=True)
class MeasureChoices:
    """How often a candidate runs, and its time limit."""

    number: int = 1  # runs timed together
    repeat: int = 1  # repetitions, of which the median counts
    warm_up: int = 1  # runs before measuring, to fill caches
    timeout_s: float = 10.0  # per candidate


def halved(
    candidates: Sequence[Candidate], reason: str, measure: Callable[[Sequence[Candidate]], list[Outcome]]
) -> list[Outcome]:
    """Isolates the failing candidates of a batch that did not build, by building its halves."""
    if len(candidates) == 1:
        return [Outcome(failure=Failure.BUILD, detail=reason)]
    middle = len(candidates) // 2
    return [*measure(candidates[:middle]), *measure(candidates[middle:])]


class Bench(Protocol):
    """Measures candidates."""

    def measure(self, task: Task, experiment: Experiment, candidates: Sequence[Candidate]) -> list[Outcome]:
        """Returns one outcome per candidate, in order. Failing candidates never raise."""

    def close(self) -> None:
        """Releases the board."""
