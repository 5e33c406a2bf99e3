"""Shows the log of a sensor program while it arrives, from a board or a file."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from aot.errors import InputError
from deploy.sensors.sensor_log_page import LogReader

_READ_BYTES = 4096


def explain(pieces: Iterable[bytes], reader: LogReader, is_live: bool = False) -> None:
    """Prints a line for each record, and the summary. Raises InputError if the program has failed.

    A live source is closed after the program's end, because a board then stays silent.
    """
    for piece in pieces:
        for line in reader.feed(piece):
            print(line, flush=True)
        if is_live and reader.has_ended:
            break
    for line in reader.feed(b"\n"):
        print(line)
    if not reader.start.app:
        raise InputError(
            "no sensor log found in the input",
            hint="create such a program with deploy new --app kws; its log begins with a line $APP,...",
        )
    for line in reader.summary():
        print(line)
    if reader.faults:
        raise InputError(f"the program has ended: {reader.faults[-1]}")


def explain_file(path: Path) -> None:
    """Shows the log in a file or from standard input."""
    if str(path) == "-":
        explain(_pieces(sys.stdin.buffer), LogReader())
        return
    try:
        with path.open("rb") as file:
            explain(_pieces(file), LogReader())
    except OSError as error:
        raise InputError(f"the log cannot be read: {error.strerror}", str(path)) from error


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := (file.read1(_READ_BYTES) if hasattr(file, "read1") else file.read(_READ_BYTES)):
        yield piece
