"""A local board that measures candidates.

Its workshop builds batches; failing batches are split in halves.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from aot.errors import ToolError
from boards.board import Board
from platforms.base import CompilerPlatform, Firmware
from platforms.runners.runner import ANY_BOARD, BoardSelector
from platforms.transport.base import Transport
from platforms.tuning.candidates import Batch, batch_of
from platforms.tuning.tasks import Experiment, Task
from platforms.tuning.trial import Candidate, MeasureChoices, Outcome, halved
from platforms.tuning.workshop import JOBS, Workshop


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
