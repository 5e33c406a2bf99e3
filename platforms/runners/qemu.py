"""Runs firmware in QEMU, with the board's UART on stdin and stdout and exact instruction counts."""

from __future__ import annotations

import shutil
import signal
import tempfile
from pathlib import Path

from boards.board import Board
from boards.board_keys import Section
from boards.schema import Key, text
from platforms.runners.gdb_stub import DebugPort, debug_address
from platforms.runners.one_processor import keep_on_one_processor, let_go
from platforms.transport.base import Transport
from platforms.transport.pipe import PipeTransport

PROGRAM = "qemu-system-arm"
_CAN_STOP = hasattr(signal, "SIGSTOP")  # not on Windows


SECTION = Section({"machine": Key(text)}, reaches_memory=True)


def missing() -> str:
    return "" if shutil.which(PROGRAM) else f"needs {PROGRAM} (Debian: apt install qemu-system-arm)"


def argv(elf: Path, board: Board) -> tuple[str, ...]:
    return command(PROGRAM, board.runners["qemu"]["machine"], elf, board)


def command(program: str, machine: str, elf: Path, board: Board, *more: str) -> tuple[str, ...]:
    """Returns the command line. Board time advances only with instructions, so timing is exact."""
    return (
        program,
        *("-M", machine),
        *("-nographic", "-monitor", "none"),
        *("-serial", "stdio"),
        *("-semihosting-config", "enable=on,target=native"),
        *_counting(board),
        *more,
        *("-kernel", str(elf)),
    )


def _counting(board: Board) -> tuple[str, ...]:
    """Sets the time per instruction, in QEMU a power of two of nanoseconds."""
    if board.counter.instruction_ns is None:
        return ()
    return ("-icount", f"shift={board.counter.instruction_ns.bit_length() - 1}")


def open_line(elf: Path, board: Board) -> Transport:
    return QemuLine(argv(elf, board))


class QemuLine(PipeTransport):
    """A line that terminates QEMU on close, because QEMU does not exit at the end of its input."""

    reaches_memory = True

    def __init__(self, argv: tuple[str, ...]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="solder-qemu-")
        address = debug_address(Path(self._folder.name))
        self._debug_port, self._rests = DebugPort(address), False
        super().__init__((*argv, "-gdb", address.option))
        if "-icount" in argv:  # all cores share one thread, which runs next to the thread of the line
            keep_on_one_processor(self._process.pid)

    def read(self, max_bytes: int, deadline_s: float) -> bytes:
        self._wake()
        self._debug_port.go()
        return super().read(max_bytes, deadline_s)

    def write(self, data: bytes, deadline_s: float) -> None:
        self._wake()
        self._debug_port.go()
        super().write(data, deadline_s)

    def write_memory(self, address: int, data: bytes) -> None:
        self._wake()
        self._debug_port.write(address, data)

    def rest(self) -> None:
        """Suspends QEMU, because firmware that polls its UART would occupy a whole processor."""
        if _CAN_STOP:
            self._process.send_signal(signal.SIGSTOP)
            self._rests = True

    def _wake(self) -> None:
        if self._rests:
            self._process.send_signal(signal.SIGCONT)
            self._rests = False

    def close(self) -> None:
        self._debug_port.close()
        self._process.kill()
        super().close()
        let_go(self._process.pid)
        self._folder.cleanup()
