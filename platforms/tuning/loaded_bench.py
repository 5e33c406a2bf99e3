"""Measures candidates in firmware that stays on the board: a batch is loaded into its RAM and called.

The slot holds the code at its start and, at its end, the rows: inputs, guard, result, guard. The firmware
watches over its own memory and over the time; what it finds comes back as a fault.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from aot.errors import DeployError, DeviceError, ToolError
from boards.board import Board
from platforms.base import CompilerPlatform, Firmware
from platforms.rpc.exchange import Deadlines
from platforms.rpc.messages import Call, Code, Slot
from platforms.rpc.session import Session
from platforms.tuning.candidates import GUARD, GUARD_BYTES, Places, batch_of, input_bytes
from platforms.tuning.lost import HELLO_S, outcome_of
from platforms.tuning.tasks import Experiment, Task
from platforms.tuning.trial import Candidate, Failure, MeasureChoices, Outcome, halved
from platforms.tuning.workshop import JOBS, Workshop

_BATCH = 24
_ALIGN = 16


class LoadedBench:
    """One board, started once."""

    def __init__(
        self,
        board: Board,
        platform: CompilerPlatform,
        folder: Path,
        choices: MeasureChoices,
        prefer: str | None = None,
        runner: str | None = None,
        objects: Path | None = None,
    ) -> None:
        self.board, self.platform, self.runner, self.choices = board, platform, runner, choices
        self.workshop = Workshop(board, platform, folder, prefer, objects)
        self._firmware: Firmware | None = None
        self._session: Session | None = None
        self._slot: Slot | None = None

    def measure(self, task: Task, experiment: Experiment, candidates: Sequence[Candidate]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for first in range(0, len(candidates), _BATCH):
            outcomes += self._batch(task, experiment, candidates[first : first + _BATCH])
        return outcomes

    def close(self) -> None:
        if self._session is not None:
            with suppress(DeployError):
                self._session.close()
        self._session = None

    def session(self) -> Session:
        """A board that answers; started again where it was lost."""
        if self._session is None:
            assert self._firmware is not None
            line = self.platform.open_line(self._firmware, self.board, self.runner)
            self._session = Session(line, Deadlines(HELLO_S, HELLO_S, run_s=3 * self.choices.timeout_s))
            self._session.hello()
        return self._session

    def slot(self, task: Task, experiment: Experiment) -> Slot:
        """Raises RequestRefusedError where nothing can be loaded."""
        if self._firmware is None:
            self._firmware = self.workshop.build(batch_of(task, experiment, (), self.choices, JOBS))
        if self._slot is None:
            self._slot = self.session().slot()
        return self._slot

    def _batch(self, task: Task, experiment: Experiment, candidates: Sequence[Candidate]) -> list[Outcome]:
        begun = time.perf_counter()
        slot = self.slot(task, experiment)
        batch = batch_of(task, experiment, [c.kernel for c in candidates], self.choices, JOBS)
        try:
            code, entries = self.workshop.loadable(batch, slot.address)
            arena = _arena_offset(code, batch.places, slot)
        except ToolError as error:
            return halved(candidates, error.where, lambda part: self._batch(task, experiment, part))
        trials = _Trials(self, code, entries, batch.places, arena, experiment)
        outcomes = [trials.measure(number) for number in range(len(candidates))]
        share = (time.perf_counter() - begun) / len(candidates)
        return [replace(outcome, seconds=share) for outcome in outcomes]


def _arena_offset(code: bytes, places: Places, slot: Slot) -> int:
    """At the slot's end. Raises ToolError where the code would reach it."""
    offset = (slot.bytes - places.arena_bytes) // _ALIGN * _ALIGN
    if len(code) > offset:
        needed = len(code) + places.arena_bytes
        raise ToolError("the candidates do not fit", f"{needed:,} bytes in a slot of {slot.bytes:,}")
    return offset


@dataclass
class _Trials:
    """The candidates of one batch, one after the other; what a reset took away is loaded again."""

    bench: LoadedBench
    image: bytes
    entries: Mapping[str, int]
    places: Places
    arena: int  # offset in the slot
    experiment: Experiment
    code: Code | None = None

    def measure(self, number: int) -> Outcome:
        session = self.bench.session()  # outside: a board that does not start is no candidate's fault
        code = self.code = self.code or self._load(session)
        try:
            return self._measured(session, code, number)
        except DeviceError as error:
            self.code = None
            self.bench.close()  # a board that went astray is started, or greeted, anew
            return outcome_of(error)

    def _measured(self, session: Session, code: Code, number: int) -> Outcome:
        choices = self.bench.choices
        session.call(code, Call(self.entries["blank"], self.arena, warm_up=0))
        entry = self.entries[f"candidate_{number}"]
        how = Call(entry, self.arena, choices.number, choices.repeat, choices.warm_up, choices.timeout_s)
        timing = session.call(code, how)
        failure = self._failure(session)
        if failure is Failure.CORRUPTION:
            self.code = None
        return Outcome(failure=failure) if failure else Outcome(timing.net_ticks)

    def _load(self, session: Session) -> Code:
        session.load(self.arena, input_bytes(self.experiment, self.places))
        return session.load_code(self.image)

    def _failure(self, session: Session) -> Failure | None:
        guard, result = bytes([GUARD]) * GUARD_BYTES, self.experiment.expected
        inputs = input_bytes(self.experiment, self.places)
        expected = zlib.crc32(inputs + guard + result + guard)
        whole = len(inputs) + len(result) + 2 * GUARD_BYTES
        if session.check(self.arena, whole) == expected:
            return None
        parts = ((0, inputs + guard), (self.places.output + len(result), guard))
        is_around = all(session.check(self.arena + at, len(b)) == zlib.crc32(b) for at, b in parts)
        return Failure.WRONG if is_around else Failure.CORRUPTION
