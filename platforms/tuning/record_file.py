"""A file of tuning records that grows by whole lines: what a crash cut short is removed, nothing else is."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from pathlib import Path

from aot.errors import OutputError
from codegen.tuning_records import TuningRecord, read_records


class RecordFile:
    """Appends to one file, which no other run may write meanwhile."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise OutputError(f"the records cannot be written: {error.strerror}", str(path)) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise OutputError(
                "another run writes these records",
                str(path),
                "name another file; deploy records merge joins them",
            ) from None
        self._cut_torn_line()
        self.records = list(read_records(path))

    def add(self, record: TuningRecord) -> None:
        """One write of one line, so that Ctrl-C leaves whole lines only."""
        os.write(self._file, record.as_line().encode())
        self.records.append(record)

    def close(self) -> None:
        os.close(self._file)

    def _cut_torn_line(self) -> None:
        size = os.fstat(self._file).st_size
        text = os.pread(self._file, size, 0)
        os.ftruncate(self._file, text.rfind(b"\n") + 1)


def merged(files: Iterable[Iterable[TuningRecord]]) -> tuple[TuningRecord, ...]:
    """Every point once, as it was measured last, in the order in which the points first occur."""
    every: dict[tuple[str, ...], TuningRecord] = {}
    for records in files:
        for record in records:
            known = every.get(record.key)
            if known is None or record.time >= known.time:
                every[record.key] = record
    return tuple(every.values())
