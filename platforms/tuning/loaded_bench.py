"""Measures candidates by loading batches into the RAM of a running board and calling them.

The slot contains the code at its start and the rows at its end: inputs, guard, result, guard. The firmware
monitors its memory and the time limit, and reports violations as faults. If memory is not executable, or too
small for one candidate, images are used instead. Firmware that is already running is never replaced; only
candidates are built.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from aot.errors import BoardError, DeployError, DeviceError, ToolError
from platforms.base import Firmware
from platforms.line_deadlines import adapted
from platforms.rpc.deadlines import Deadlines
from platforms.rpc.failures import RequestRefusedError
from platforms.rpc.messages import Call, Code, Slot
from platforms.rpc.session import Session
from platforms.runners.runner import ATTACH
from platforms.transport.base import Transport
from platforms.transport.ports import APPEARS_S, open_port_of
from platforms.tuning.board_bench import HELLO_S, BoardBench, outcome_of
from platforms.tuning.candidates import GUARD, GUARD_BYTES, Batch, Places, input_bytes, without_candidates
from platforms.tuning.image_bench import run_image
from platforms.tuning.trial import Failure, Outcome

_ALIGN = 16
_NO_SLOT = Slot(0, 0, _ALIGN)


class LoadedBench(BoardBench):
    """A bench whose board is flashed or started once, and again only after a crash."""

    most_in_a_batch = 32
    _firmware: Firmware | None = None
    _session: Session | None = None
    _slot: Slot | None = None  # known once the firmware runs

    def measured(self, batch: Batch) -> list[Outcome]:
        slot = self.slot(batch)
        if slot == _NO_SLOT:
            return self._in_an_image(batch)
        code, entries = self.workshop.loadable(batch, slot.address)
        arena = _arena_offset(code, batch.places, slot)
        if arena is None and batch.count > 1:
            raise ToolError("the candidates do not fit", f"a slot of {slot.bytes:,} bytes")
        if arena is None:
            return self._in_an_image(batch)
        trials = _LoadedTrials(self, batch, slot, code, entries, arena)
        return [trials.measure(number) for number in range(batch.count)]

    def close(self) -> None:
        if self._session is not None:
            with suppress(DeployError):
                self._session.close()
        self._session = None

    def session(self) -> Session:
        """Returns a session with the board, restarting it if it was lost."""
        if self._session is None:
            line = self._line()
            deadlines = Deadlines(HELLO_S, HELLO_S, run_s=3 * self.choices.timeout_s)
            self._session = Session(line, adapted(deadlines, line))
            self._session.hello()
        return self._session

    @property
    def _runs_already(self) -> bool:
        return self._runner == ATTACH

    def _line(self) -> Transport:
        if self._runs_already:
            return open_port_of(self.board, self._where.serial, self._where.port, APPEARS_S)
        assert self._firmware is not None
        return self.open_line(self._firmware)

    def slot(self, batch: Batch) -> Slot:
        """Returns the firmware's memory for loaded code; its size is 0 if not supported."""
        if self._firmware is None and self._slot != _NO_SLOT and not self._runs_already:
            self._firmware = self.workshop.build(without_candidates(batch))
        if self._slot is None:
            self._slot = self._asked_slot()
        return self._slot

    def _asked_slot(self) -> Slot:
        try:
            return self.session().slot()
        except RequestRefusedError:
            return _NO_SLOT

    def _in_an_image(self, batch: Batch) -> list[Outcome]:
        if self._runs_already:
            raise _cannot_be_loaded(self._slot or _NO_SLOT, self.board.name)
        self.close()
        self._firmware = None  # the image replaces it on the board
        return run_image(self, self.workshop.build(batch), batch)


def _cannot_be_loaded(slot: Slot, board: str) -> BoardError:
    """Returns an error that explains why running firmware cannot measure."""
    if slot == _NO_SLOT:
        return BoardError(
            "the running firmware does not accept code over its line",
            board,
            "build it with solder_slot.c, -DSOLDER_SLOT and the two functions of solder_slot.h",
        )
    return BoardError(
        f"a candidate and its rows do not fit the firmware's slot of {slot.bytes:,} bytes",
        board,
        "give solder_port_slot() in solder_slot.h more RAM",
    )


def _arena_offset(code: bytes, places: Places, slot: Slot) -> int | None:
    """Returns the offset of the rows at the slot's end, or None if the code would overlap them."""
    offset = (slot.bytes - places.arena_bytes) // _ALIGN * _ALIGN
    return offset if len(code) <= offset else None


@dataclass
class _LoadedTrials:
    """Measures the candidates of one batch in sequence, reloading everything after a reset."""

    bench: LoadedBench
    batch: Batch
    slot: Slot
    image: bytes
    entries: Mapping[str, int]
    arena: int  # offset in the slot
    code: Code | None = None

    def measure(self, number: int) -> Outcome:
        session = self.bench.session()  # outside the try: a failing board start is not the candidate's fault
        code = self.code = self.code or self._load(session)
        try:
            return self._measured(session, code, number)
        except DeviceError as error:
            self.code = None
            self.bench.close()  # a malfunctioning board must be restarted or reconnected
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
        session.place(self.slot, self.arena, self._inputs)
        return session.place_code(self.slot, self.image)

    @property
    def _inputs(self) -> bytes:
        return input_bytes(self.batch.experiment, self.batch.places)

    def _failure(self, session: Session) -> Failure | None:
        guard, result = bytes([GUARD]) * GUARD_BYTES, self.batch.experiment.expected
        around = self._inputs + guard
        expected = zlib.crc32(around + result + guard)
        if session.check(self.arena, len(around) + len(result) + len(guard)) == expected:
            return None
        parts = ((0, around), (self.batch.places.output + len(result), guard))
        is_around = all(session.check(self.arena + at, len(b)) == zlib.crc32(b) for at, b in parts)
        return Failure.WRONG if is_around else Failure.CORRUPTION
