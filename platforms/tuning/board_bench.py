"""A local board that measures candidates.

Its workshop builds batches; failing batches are split in halves.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from aot.errors import DeviceError, ToolError
from boards.board import Board
from platforms.base import CompilerPlatform, Firmware
from platforms.rpc.failures import DeviceCrashedError, DeviceResetError, DeviceSilentError
from platforms.rpc.protocol import Fault
from platforms.runners.runner import ANY_BOARD, BoardSelector
from platforms.transport.base import Transport
from platforms.tuning.candidates import Batch, batch_of
from platforms.tuning.tasks import Experiment, Task
from platforms.tuning.trial import Candidate, Failure, MeasureChoices, Outcome, halved
from platforms.tuning.workshop import JOBS, Workshop

# Determines from a board that was lost during a trial how the candidate failed.

HELLO_S = 60.0  # long, so that a slow board start does not count as a candidate's failure
_BY_CAUSE = {Fault.WATCHDOG: Failure.HANG, Fault.OVERWRITTEN: Failure.CORRUPTION}


def outcome_of(error: DeviceError) -> Outcome:
    if isinstance(error, DeviceSilentError):
        return Outcome(failure=Failure.HANG)
    if isinstance(error, DeviceCrashedError):
        failure = _BY_CAUSE.get(Fault(error.fault.cause), Failure.CRASH)
        return Outcome(failure=failure, detail=str(error.fault) if failure is Failure.CRASH else "")
    reset = isinstance(error, DeviceResetError)
    return Outcome(failure=Failure.CRASH, detail="the board restarted" if reset else error.what)


class BoardBench(ABC):
    """A bench with one board, emulated or physical."""

    most_in_a_batch: int
    files_of_a_batch = JOBS  # number of C files per batch

    def __init__(
        self,
        board: Board,
        platform: CompilerPlatform,
        folder: Path,
        choices: MeasureChoices,
        prefer: str | None = None,
        runner: str | None = None,
        objects: Path | None = None,
        where: BoardSelector = ANY_BOARD,
    ) -> None:
        self.board, self.platform, self.choices = board, platform, choices
        self._runner, self._where = runner, where
        self.workshop = Workshop(board, platform, folder, prefer, objects)

    def open_line(self, firmware: Firmware) -> Transport:
        """Starts the firmware on the board."""
        return self.platform.open_line(firmware, self.board, self._runner, self._where)

    def measure(self, task: Task, experiment: Experiment, candidates: Sequence[Candidate]) -> list[Outcome]:
        size = self.most_in_a_batch
        parts = [candidates[first : first + size] for first in range(0, len(candidates), size)]
        return [outcome for part in parts for outcome in self._part(task, experiment, part)]

    def _part(self, task: Task, experiment: Experiment, candidates: Sequence[Candidate]) -> list[Outcome]:
        begun = time.perf_counter()
        batch = batch_of(
            task, experiment, [c.kernel for c in candidates], self.choices, self.files_of_a_batch
        )
        try:
            outcomes = self.measured(batch)
        except ToolError as error:
            return halved(candidates, error.where, lambda some: self._part(task, experiment, some))
        share = (time.perf_counter() - begun) / len(candidates)
        return [replace(outcome, seconds=share) for outcome in outcomes]

    @abstractmethod
    def measured(self, batch: Batch) -> list[Outcome]:
        """Builds and measures a batch. Raises ToolError if the batch does not build."""

    @abstractmethod
    def close(self) -> None:
        """Releases the board."""
