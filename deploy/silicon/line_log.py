"""Records every byte on a line with the computer's time, and reads such logs.

A log is text. Each line has its number, the seconds since the start, a mark and a content: "<" bytes from the
board and ">" bytes to it, in hex; "#" what is measured, in JSON; "." the end.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from aot.errors import InputError
from platforms.transport.base import Clock, Transport

TO_BOARD, FROM_BOARD, NOTE, END = ">", "<", "#", "."
_MARKS = (TO_BOARD, FROM_BOARD, NOTE, END)
_MOST_LINE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of a log: bytes, a note, or the end."""

    at_s: float
    mark: str
    data: bytes = b""
    note: Any = None


class LineLog:
    """A log that grows in memory."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock, self._start_s = clock, clock()
        self._lines: list[str] = []

    def note(self, facts: Any) -> None:
        self._put(NOTE, json.dumps(facts, sort_keys=True, separators=(",", ":")))

    def carried(self, mark: str, data: bytes) -> None:
        if data:
            self._put(mark, data.hex())

    def end(self) -> bytes:
        """Returns the finished log."""
        self._put(END, "end")
        return ("\n".join(self._lines) + "\n").encode()

    def _put(self, mark: str, content: str) -> None:
        self._lines.append(f"{len(self._lines)} {self._clock() - self._start_s:.6f} {mark} {content}")


class LoggedLine(Transport):
    """Wraps a line and logs its bytes. Memory is not written past the line: the log shall have everything."""

    def __init__(self, line: Transport, log: LineLog) -> None:
        self.name, self.bits_per_second, self.is_program = line.name, line.bits_per_second, line.is_program
        self._line, self._log = line, log

    def read(self, max_bytes: int, deadline_s: float) -> bytes:
        received = self._line.read(max_bytes, deadline_s)
        self._log.carried(FROM_BOARD, received)
        return received

    def write(self, data: bytes, deadline_s: float) -> None:
        self._log.carried(TO_BOARD, data)
        self._line.write(data, deadline_s)

    def set_rate(self, bits_per_second: int) -> bool:
        changed = self._line.set_rate(bits_per_second)
        self.bits_per_second = self._line.bits_per_second
        return changed

    def rest(self) -> None:
        self._line.rest()

    def close(self) -> None:
        self._line.close()


def read_log(data: bytes, where: str) -> Sequence[LogLine]:
    """Reads a log. Raises InputError, which names the first bad line, if one is missing or damaged."""
    try:
        lines = data.decode("ascii").splitlines()
    except UnicodeDecodeError:
        raise InputError("the log has bytes that no log has", where, _AGAIN) from None
    found = [_read_line(text, number, where) for number, text in enumerate(lines)]
    if not found or found[-1].mark != END:
        raise InputError(f"the log is cut off after line {len(found) - 1}", where, _AGAIN)
    _require_order(found, where)
    return found


_AGAIN = "measure again: deploy bench --kit"


def _read_line(text: str, number: int, where: str) -> LogLine:
    parts = text[:_MOST_LINE_BYTES].split(" ", 3)
    if len(parts) != 4 or parts[2] not in _MARKS:
        raise InputError(f"line {number} of the log is not a line of a log", where, _AGAIN)
    if parts[0] != str(number):
        raise InputError(f"line {number} of the log is missing: line {parts[0]} is there", where, _AGAIN)
    try:
        at_s = float(parts[1])
        if parts[2] == NOTE:
            return LogLine(at_s, NOTE, note=json.loads(parts[3]))
        return LogLine(at_s, parts[2], b"" if parts[2] == END else bytes.fromhex(parts[3]))
    except (ValueError, RecursionError):
        raise InputError(f"line {number} of the log is damaged", where, _AGAIN) from None


def _require_order(lines: Sequence[LogLine], where: str) -> None:
    for number, (before, line) in enumerate(itertools.pairwise(lines), 1):
        if not before.at_s <= line.at_s:  # also false for NaN
            raise InputError(f"line {number} of the log is older than the line before it", where, _AGAIN)
        if before.mark == END:
            raise InputError(f"the log goes on after its end, in line {number}", where, _AGAIN)


def notes(lines: Sequence[LogLine], key: str) -> Iterator[Any]:
    """Yields the notes that have this key."""
    yield from (line.note[key] for line in lines if isinstance(line.note, dict) and key in line.note)
