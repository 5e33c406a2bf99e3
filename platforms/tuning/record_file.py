"""A file of tuning records that grows by whole lines. Only a line truncated by a crash is removed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from aot.errors import InputError, OutputError
from codegen.kernels.tuning_records import TuningRecord, read_records
from platforms.transport.system import BINARY, try_lock

_BEGINNING = b'{"task": '  # of every record


class RecordFile:
    """Appends to a file that no other run may write at the same time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        if path.exists() and not path.is_file():
            raise OutputError("the records must be a regular file", str(path), "name a file")
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | BINARY, 0o644)
        except OSError as error:
            raise OutputError(f"the records cannot be written: {error.strerror}", str(path)) from error
        if not try_lock(self._file):
            os.close(self._file)
            raise OutputError(
                "another run is writing these records",
                str(path),
                "name another file, and join both later with deploy records merge",
            )
        try:
            self.records = [] if self._is_first_line_torn() else list(read_records(path))
            self._cut_torn_line()  # not earlier, so that a file without records stays unchanged
        except InputError:
            self.close()
            raise

    def add(self, record: TuningRecord) -> None:
        """Appends a record in one write, so that Ctrl-C leaves only whole lines."""
        try:
            os.write(self._file, record.as_line().encode())
        except OSError as error:
            raise OutputError(f"the records cannot be written: {error.strerror}", str(self._path)) from None
        self.records.append(record)

    def close(self) -> None:
        os.close(self._file)

    def _is_first_line_torn(self) -> bool:
        text = self._path.read_bytes()
        return text.startswith(_BEGINNING) and b"\n" not in text

    def _cut_torn_line(self) -> None:
        os.ftruncate(self._file, self._path.read_bytes().rfind(b"\n") + 1)


def merged(files: Iterable[Iterable[TuningRecord]]) -> tuple[TuningRecord, ...]:
    """Returns the latest record of every point, in order of first occurrence."""
    every: dict[tuple[str, ...], TuningRecord] = {}
    for records in files:
        for record in records:
            known = every.get(record.key)
            if known is None or record.time >= known.time:
                every[record.key] = record
    return tuple(every.values())
