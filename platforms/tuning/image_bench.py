"""Measures many candidates in one image: for boards whose memory cannot be loaded while the firmware runs.

Every candidate is a model of the firmware, profiled over the line: the first layer blanks the result,
the second is the candidate itself, timed on the board; the others are the guards around the result and
the inputs, whose checksums show what a candidate wrote where it should not.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from aot.errors import DeployError, DeviceError, ToolError
from boards.board import Board
from platforms.base import Firmware, Platform
from platforms.rpc.exchange import Deadlines
from platforms.rpc.failures import DeviceCrashedError, DeviceResetError, DeviceSilentError
from platforms.rpc.messages import LayerProfile, RemoteModel, RemoteTensor
from platforms.rpc.session import Session
from platforms.tuning.candidates import GUARD, GUARD_BYTES, Places, input_bytes, places_of
from platforms.tuning.tasks import Experiment, Task
from platforms.tuning.trial import Candidate, Failure, MeasureChoices, Outcome
from platforms.tuning.workshop import Workshop

_IN_AN_IMAGE = 48
_LAYERS = 4
_BLANKED, _MEASURED, _GUARDED, _READ = range(_LAYERS)
_U8 = 2  # as solder_model.h


class ImageBench:
    """One emulated or real board, flashed or started anew for each batch."""

    def __init__(
        self,
        board: Board,
        platform: Platform,
        folder: Path,
        choices: MeasureChoices,
        prefer: str | None = None,
        runner: str | None = None,
        objects: Path | None = None,
    ) -> None:
        self.board, self.platform, self.runner, self.choices = board, platform, runner, choices
        self.workshop = Workshop(board, platform, folder, prefer, objects)

    def measure(self, task: Task, experiment: Experiment, candidates: Sequence[Candidate]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for first in range(0, len(candidates), _IN_AN_IMAGE):
            outcomes += self._image(task, experiment, candidates[first : first + _IN_AN_IMAGE])
        return outcomes

    def close(self) -> None:
        """Boards run only while a batch is measured."""

    def _image(self, task: Task, experiment: Experiment, candidates: Sequence[Candidate]) -> list[Outcome]:
        begun = time.perf_counter()
        state_bytes = max((_state_bytes(c) for c in candidates), default=0)
        places = places_of(experiment, state_bytes)
        try:
            kernels = {n: c.kernel for n, c in enumerate(candidates)}
            firmware = self.workshop.build(task, experiment, places, kernels, self.choices)
        except ToolError as error:
            return self._halves(task, experiment, candidates, error)
        trials = _Trials(self, firmware, experiment, places)
        try:
            outcomes = [trials.measure(number) for number in range(len(candidates))]
        finally:
            trials.close()
        share = (time.perf_counter() - begun) / len(candidates)
        return [replace(outcome, seconds=share) for outcome in outcomes]

    def _halves(
        self, task: Task, experiment: Experiment, candidates: Sequence[Candidate], error: ToolError
    ) -> list[Outcome]:
        """Finds the candidates that do not build."""
        if len(candidates) == 1:
            return [Outcome(failure=Failure.BUILD, detail=error.where)]
        middle = len(candidates) // 2
        return [
            outcome
            for part in (candidates[:middle], candidates[middle:])
            for outcome in self._image(task, experiment, part)
        ]


def _state_bytes(candidate: Candidate) -> int:
    accumulation = candidate.kernel.accumulation
    return accumulation.bytes if accumulation is not None else 0


@dataclass(frozen=True, slots=True)
class _Expected:
    """Checksums of what a good candidate leaves behind."""

    result: int
    guards: int
    inputs: int

    def failure(self, layers: Sequence[LayerProfile]) -> Failure | None:
        if (layers[_GUARDED].crc32, layers[_READ].crc32) != (self.guards, self.inputs):
            return Failure.CORRUPTION
        return None if layers[_MEASURED].crc32 == self.result else Failure.WRONG


class _Trials:
    """The candidates of one image, one after the other; a board that was lost is started again."""

    def __init__(self, bench: ImageBench, firmware: Firmware, experiment: Experiment, places: Places) -> None:
        self._bench, self._firmware, self._places = bench, firmware, places
        self._inputs = input_bytes(experiment, places)
        guards = bytes([GUARD]) * (2 * GUARD_BYTES)
        self._expected = _Expected(
            zlib.crc32(experiment.expected), zlib.crc32(guards), zlib.crc32(self._inputs)
        )
        self._session: Session | None = None

    def measure(self, number: int) -> Outcome:
        ticks = []
        for _ in range(self._bench.choices.repeat):
            try:
                layers = self._ready().profile(_candidate(number, self._places), ())
            except DeviceError as error:
                self.close()
                return _lost(error)
            failure = self._expected.failure(layers)
            if failure is not None:
                self.close()  # its memory is not to be trusted any more
                return Outcome(failure=failure)
            ticks.append(layers[_MEASURED].ticks)
        return Outcome(tuple(ticks))

    def close(self) -> None:
        if self._session is not None:
            with suppress(DeployError):
                self._session.close()
        self._session = None

    def _ready(self) -> Session:
        """A board that runs the image and holds the rows."""
        if self._session is None:
            bench = self._bench
            line = bench.platform.open_line(self._firmware, bench.board, bench.runner)
            deadlines = Deadlines(answer_s=bench.choices.timeout_s, run_s=bench.choices.timeout_s)
            self._session = Session(line, deadlines)
            self._session.hello()
            self._session.write_input(_loader(self._places), 0, self._inputs)
        return self._session


def _loader(places: Places) -> RemoteModel:
    rows = RemoteTensor("rows", _U8, (places.input_bytes,), 0, places.input_bytes)
    return RemoteModel(0, "rows", b"", places.arena_bytes, 0, (rows,))


def _candidate(number: int, places: Places) -> RemoteModel:
    return RemoteModel(number + 1, f"candidate {number}", b"", places.arena_bytes, _LAYERS)


def _lost(error: DeviceError) -> Outcome:
    if isinstance(error, DeviceSilentError):
        return Outcome(failure=Failure.HANG)
    if isinstance(error, DeviceCrashedError):
        return Outcome(failure=Failure.CRASH, detail=str(error.fault))
    reset = isinstance(error, DeviceResetError)
    return Outcome(failure=Failure.CRASH, detail="the board started anew" if reset else error.what)
