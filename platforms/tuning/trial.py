"""A trial: one point of a task, and what measuring it gave."""

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
    """A kernel to be measured."""

    point: Point
    kernel: Kernel


@dataclass(frozen=True, slots=True)
class Outcome:
    """The ticks of the board's counter for each repeat, or the reason why there are none."""

    ticks: tuple[int, ...] = ()
    failure: Failure | None = None
    detail: str = ""
    seconds: float = 0.0  # this trial's share of building and measuring

    @property
    def error(self) -> str:
        if self.failure is None:
            return ""
        return f"{self.failure.value}: {self.detail}" if self.detail else self.failure.value


@dataclass(frozen=True, slots=True)
class MeasureChoices:
    """The number of a candidate's runs, and their time limit."""

    number: int = 1  # runs timed together
    repeat: int = 1  # of which the median counts
    warm_up: int = 1  # runs before, which fill caches
    timeout_s: float = 10.0  # of one candidate


def halved(
    candidates: Sequence[Candidate], reason: str, measure: Callable[[Sequence[Candidate]], list[Outcome]]
) -> list[Outcome]:
    """Finds the candidates to blame in a batch that did not build, by building parts of it."""
    if len(candidates) == 1:
        return [Outcome(failure=Failure.BUILD, detail=reason)]
    middle = len(candidates) // 2
    return [*measure(candidates[:middle]), *measure(candidates[middle:])]


class Bench(Protocol):
    """A place where candidates are measured."""

    def measure(self, task: Task, experiment: Experiment, candidates: Sequence[Candidate]) -> list[Outcome]:
        """Returns one outcome for each candidate, in their order. Nothing that a candidate does raises."""

    def close(self) -> None:
        """Releases the board."""
