"""Speaks with firmware that implements MLPerf Tiny's serial commands, over lines that may lose bytes.

The protocol has no checksums. Therefore samples are read back, results are asked for twice, and what was
damaged is repeated a few times.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from aot.errors import DeviceError
from platforms.transport.base import Transport

_END = b"%"
_READY = "m-ready"
_BYTES_IN_COMMAND = 31  # the runner's: commands have at most 80 characters
TRIES = 5
ANSWER_S = 5.0
_SLOWER = 20  # how much longer an emulated run may take than the time that it reports
_READ_BYTES = 4096
_HINT = "check the cable and the baud rate, or use a shorter cable"

Found = TypeVar("Found")


class _DamagedError(Exception):
    """An answer is incomplete, late, or not what was asked for."""


@dataclass(frozen=True, slots=True)
class Inferences:
    """What the device reports about runs of one sample."""

    results: tuple[float, ...]
    start_us: int
    end_us: int
    iterations: int
    warmups: int

    @property
    def elapsed_us(self) -> int:
        return self.end_us - self.start_us


class MlperfDevice:
    """A device that answers the benchmark's commands. `log` receives every command and every line."""

    def __init__(self, line: Transport, log: Callable[[str], None]) -> None:
        self._line, self.log = line, log
        self._received = b""
        self.name = ""
        self._retried("its name", self._connect, connects=False)
        self.model = self._retried("its profile", lambda: self._field("profile", "m-model-["))

    def load(self, sample: bytes) -> None:
        """Writes a sample, and reads it back. Raises DeviceError."""
        self._retried("a sample", lambda: self._load(sample))

    def infer(self, iterations: int, warmups: int, expected_s: float = 0.0) -> Inferences:
        """Runs the loaded sample. `expected_s` is the duration. Raises DeviceError."""
        patience_s = ANSWER_S + _SLOWER * expected_s
        return self._retried("results", lambda: self._infer(iterations, warmups, patience_s))

    def _retried(self, what: str, attempt: Callable[[], Found], connects: bool = True) -> Found:
        why = ""
        for number in range(TRIES):
            try:
                if number and connects:
                    self._connect()
                return attempt()
            except _DamagedError as error:
                why = str(error)
        raise DeviceError(
            f"the board did not transfer {what} in {TRIES} attempts: {why}", self._line.name, _HINT
        )

    def _connect(self) -> None:
        """Ends a half command, and reads on until the answer to the last command that was sent."""
        self._write(_END)
        self._write(b"name" + _END)
        while not (line := self._read_line(ANSWER_S)).startswith("m-name-"):
            pass
        self.name = _bracketed(line, "m-name-dut-[")
        self._read_answer(ANSWER_S)

    def _field(self, command: str, start: str) -> str:
        return _bracketed(_one(self._ask(command), start), start)

    def _load(self, sample: bytes) -> None:
        self._ask(f"db load {len(sample)}")
        for at in range(0, len(sample), _BYTES_IN_COMMAND):
            answer = self._ask(f"db {sample[at : at + _BYTES_IN_COMMAND].hex()}")
        _one(answer, "m-load-done")
        shown = "".join(line.removeprefix("m-buffer-") for line in self._ask("db print"))
        if shown.replace("-", "") != sample.hex():
            raise _DamagedError("the sample arrived changed")

    def _infer(self, iterations: int, warmups: int, patience_s: float) -> Inferences:
        answer = self._ask(f"infer {iterations} {warmups}", patience_s)
        if f"m-infer-start-{iterations}" not in answer or f"m-warmup-start-{warmups}" not in answer:
            raise _DamagedError("another number of runs was started")
        laps = [line for line in answer if line.startswith("m-lap-us-")]
        if len(laps) != 2:
            raise _DamagedError(f"{len(laps)} timestamps arrived, not 2; firmware for energy sends none")
        start, end = (_number(line.removeprefix("m-lap-us-")) for line in laps)
        results = _one(answer, "m-results-[")
        if _one(self._ask("results"), "m-results-[") != results:
            raise _DamagedError("results arrived changed")
        return Inferences(_values(results), start, end, iterations, warmups)

    def _ask(self, command: str, patience_s: float = 0.0) -> Sequence[str]:
        """Sends a command and returns the lines of its answer. Raises _DamagedError if it is an error."""
        self.log(f"{command}{_END.decode()}")
        self._write(command.encode() + _END)
        answer = self._read_answer(patience_s or ANSWER_S)
        refused = next((line for line in answer if line.startswith("e-")), None)
        if refused is not None:
            raise _DamagedError(f"it answers {command[:20]} with {refused}")
        return answer

    def _read_answer(self, patience_s: float) -> list[str]:
        answer: list[str] = []
        while (line := self._read_line(patience_s)) != _READY:
            answer.append(line)
        return answer

    def _read_line(self, patience_s: float) -> str:
        while b"\n" not in self._received:
            received = self._line.read(_READ_BYTES, patience_s)
            if not received:
                self._received = b""
                raise _DamagedError(f"nothing came for {patience_s:g} s")
            self._received += received
        line, self._received = self._received.split(b"\n", 1)
        text = line.decode("ascii", "replace").strip("\r\0")
        self.log(text)
        return text

    def _write(self, data: bytes) -> None:
        self._line.write(data, ANSWER_S)


def _one(lines: Sequence[str], start: str) -> str:
    found = [line for line in lines if line.startswith(start)]
    if len(found) != 1:
        raise _DamagedError(f"{len(found)} lines start with {start}, not 1")
    return found[0]


def _bracketed(line: str, start: str) -> str:
    if not line.startswith(start) or not line.endswith("]"):
        raise _DamagedError(f"a line is damaged: {line[:40]}")
    return line[len(start) : -1]


def _number(text: str) -> int:
    if not text.isdecimal() or not text.isascii():
        raise _DamagedError(f"{text[:20]} is no number")
    return int(text)


def _values(line: str) -> tuple[float, ...]:
    try:
        values = tuple(float(text) for text in _bracketed(line, "m-results-[").split(","))
    except ValueError:
        raise _DamagedError(f"a line is damaged: {line[:40]}") from None
    if not all(map(math.isfinite, values)):
        raise _DamagedError(f"a result is no number: {line[:40]}")
    return values
