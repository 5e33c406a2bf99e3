"""A program's stdin and stdout as a line: the host process, or an emulator's serial port."""

from __future__ import annotations

import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from platforms.transport.base import LineClosedError
from platforms.transport.descriptor import DescriptorTransport
from platforms.transport.flow import ends_of
from platforms.transport.watchdog import Watchdog

END_OF_INPUT_S = 1.0  # a host process ends soon after its stdin closes
EXIT_S = 2.0  # maximum time for a program to exit after a signal


class PipeTransport(DescriptorTransport):
    """Starts a program. Closing the line ends the program, by end of input or else by signals."""

    is_program = True
    end_of_input_s = END_OF_INPUT_S

    def __init__(
        self, argv: Sequence[str], cwd: Path | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self.argv = tuple(argv)
        try:
            self._process = subprocess.Popen(
                self.argv, cwd=cwd, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
            )
        except OSError as error:
            raise LineClosedError(
                f"cannot start {argv[0]}: {error.strerror}", where=shlex.join(argv)
            ) from error
        self._watchdog = Watchdog(self._process.pid)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        super().__init__(Path(argv[0]).name, ends_of(self._stdout.fileno(), self._stdin.fileno()))

    def close(self) -> None:
        if self._flow.is_sending:
            self._process.terminate()
        self._stdin.close()
        if not self._ends_within(self.end_of_input_s):
            self._process.terminate()
        if not self._ends_within(EXIT_S):
            self._process.kill()
            self._process.wait()
            self._watchdog.stop()
        self._stdout.close()

    @property
    def exit_status(self) -> int | None:
        """Returns the program's exit status, negative after a signal, or None while it runs."""
        return self._process.poll()

    def _ends_within(self, wait_s: float) -> bool:
        try:
            self._process.wait(wait_s)
        except subprocess.TimeoutExpired:
            return False
        self._watchdog.stop()
        return True

    def _closed(self) -> LineClosedError:
        """Returns an error that explains how the program ended after its pipe broke."""
        if not self._ends_within(EXIT_S):
            return super()._closed()
        how = ending(self._process.returncode)
        return LineClosedError(f"{self.name} ended: {how}", where=shlex.join(self.argv))


def ending(code: int) -> str:
    """Describes how a process ended."""
    if code >= 0:
        return f"exit status {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
