"""Measures many candidates in one firmware image, for boards that cannot load code at run time.

Every candidate is a model of the firmware, profiled over the line. Its first layer clears the result, the
second makes the same number of empty calls, the third is the candidate. Other layers are the guards around
the result and the inputs; their checksums reveal stray writes.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from aot.errors import DeployError, DeviceError
from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import DType, TensorType
from platforms.base import Firmware
from platforms.line_deadlines import adapted
from platforms.rpc.deadlines import Deadlines
from platforms.rpc.messages import LayerProfile, RemoteModel
from platforms.rpc.session import Session
from platforms.tuning.board_bench import HELLO_S, BoardBench, outcome_of
from platforms.tuning.candidates import GUARD, GUARD_BYTES, Batch, Places, input_bytes
from platforms.tuning.trial import Failure, Outcome

_LAYERS = 5
_BLANKED, EMPTY, MEASURED, _GUARDED, _READ = range(_LAYERS)


class ImageBench(BoardBench):
    """A bench whose board is flashed or restarted for each batch."""

    most_in_a_batch = 48

    def measured(self, batch: Batch) -> list[Outcome]:
        return run_image(self, self.workshop.build(batch), batch)

    def close(self) -> None:
        """Does nothing, because boards run only while a batch is measured."""


def run_image(bench: BoardBench, firmware: Firmware, batch: Batch) -> list[Outcome]:
    """Measures built firmware on the bench's board."""
    trials = _ImageTrials(bench, firmware, batch)
    try:
        return [trials.measure(number) for number in range(batch.count)]
    finally:
        trials.close()


def run_candidate(bench: BoardBench, firmware: Firmware, batch: Batch, number: int) -> Outcome:
    """Measures one candidate of built firmware on a board started for it."""
    trials = _ImageTrials(bench, firmware, batch)
    try:
        return trials.measure(number)
    finally:
        trials.close()


@dataclass(frozen=True, slots=True)
class _Expected:
    """Checksums of memory after a correct candidate."""

    result: int
    guards: int
    inputs: int

    def failure(self, layers: Sequence[LayerProfile]) -> Failure | None:
        if (layers[_GUARDED].crc32, layers[_READ].crc32) != (self.guards, self.inputs):
            return Failure.CORRUPTION
        return None if layers[MEASURED].crc32 == self.result else Failure.WRONG


class _ImageTrials:
    """Measures the candidates of one image in sequence. A lost board is restarted."""

    def __init__(self, bench: BoardBench, firmware: Firmware, batch: Batch) -> None:
        self._bench, self._firmware, self._places = bench, firmware, batch.places
        experiment, places = batch.experiment, batch.places
        self._inputs = input_bytes(experiment, places)
        guards = bytes([GUARD]) * (2 * GUARD_BYTES)
        self._expected = _Expected(
            zlib.crc32(experiment.expected), zlib.crc32(guards), zlib.crc32(self._inputs)
        )
        self._session: Session | None = None

    def measure(self, number: int) -> Outcome:
        ticks = []
        for _ in range(self._bench.choices.repeat):
            session = self._ready()  # outside the try: a failing board start is not the candidate's fault
            try:
                layers = session.profile(_candidate(number, self._places), ())
            except DeviceError as error:
                self.close()
                return outcome_of(error)
            failure = self._expected.failure(layers)
            if failure is not None:
                self.close()  # its memory may be corrupted
                return Outcome(failure=failure)
            ticks.append(layers[MEASURED].ticks - layers[EMPTY].ticks)
        return Outcome(tuple(ticks))

    def close(self) -> None:
        if self._session is not None:
            with suppress(DeployError):
                self._session.close()
        self._session = None

    def _ready(self) -> Session:
        """Returns a session with a board that runs the image and has the input rows."""
        if self._session is None:
            bench = self._bench
            line = bench.open_line(self._firmware)
            deadlines = Deadlines(HELLO_S, HELLO_S, run_s=bench.choices.timeout_s)
            self._session = Session(line, adapted(deadlines, line))
            self._session.hello()
            self._session.write_input(_loader(self._places), 0, self._inputs)
        return self._session


def _loader(places: Places) -> RemoteModel:
    rows = TensorSpec("rows", TensorType(DType.U8, (places.input_bytes,)))
    return RemoteModel(0, "rows", b"", places.arena_bytes, 0, (rows,))


def _candidate(number: int, places: Places) -> RemoteModel:
    return RemoteModel(number + 1, f"candidate {number}", b"", places.arena_bytes, _LAYERS)
