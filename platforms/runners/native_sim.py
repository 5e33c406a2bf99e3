"""Runs Zephyr's native_sim, a process whose UART is a pseudo-terminal that it prints at startup."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import IO

from boards.board import Board
from boards.board_keys import Section
from platforms.transport.base import LineClosedError, Transport
from platforms.transport.pty import PtyTransport
from platforms.transport.watchdog import Watchdog

_NAMED = re.compile(rb"pseudotty: (\S+)")


SECTION = Section()


def missing() -> str:
    return ""


def argv(elf: Path, _board: Board) -> tuple[str, ...]:
    return (str(elf.resolve()),)


def open_line(elf: Path, board: Board) -> Transport:
    return NativeSimLine(argv(elf, board))


class NativeSimLine(PtyTransport):
    """A line to a process: each ends with the other."""

    is_program = True

    def __init__(self, argv: tuple[str, ...]) -> None:
        self._process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self._watchdog = Watchdog(self._process.pid)
        assert self._process.stdout is not None
        self._stdout = self._process.stdout
        try:
            super().__init__(_terminal(self._stdout, argv))
        except BaseException:
            self._end()
            raise
        self.name = Path(argv[0]).name

    def close(self) -> None:
        super().close()
        self._end()

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._watchdog.stop()
        self._stdout.close()


def _terminal(stdout: IO[bytes], argv: tuple[str, ...]) -> Path:
    """Reads the pseudo-terminal's name from the first output of the process."""
    said = b""
    for line in stdout:
        said += line
        if named := _NAMED.search(line):
            return Path(named[1].decode())
    raise LineClosedError(
        "native_sim ended without naming its terminal", f"{shlex.join(argv)}\n{said.decode()}"
    )
