"""Runs firmware in the unicorn package, an emulated board that can be installed with pip."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from aot.distribution import pip_install
from aot.errors import BoardError
from aot.trust import module_argv
from boards.board import Board
from boards.board_keys import Section
from platforms.second_core import uses_two_cores
from platforms.transport.base import Transport
from platforms.transport.pipe import PipeTransport

MACHINE = "platforms.runners.unicorn_machine"
_SKIPS_INSTRUCTIONS = "2.1.4"  # a caller's instruction, if a function's last IT block ends in a skipped one


def _lacks(board: Board) -> Iterator[str]:
    counter = board.own_counter
    if not board.core.unicorn:
        yield f"a core that the unicorn package emulates, not {board.core.name}"
    if board.uart is None:
        yield "a table [uart]"
    if counter is None or counter.driver != "register" or counter.instruction_ns is None:
        yield 'a [counter] with driver = "register" and instruction_ns'


SECTION = Section(lacks=_lacks)


def missing() -> str:
    if find_spec("unicorn") is None:
        return f"needs the Python package unicorn ({pip_install('unicorn')})"
    if version("unicorn") == _SKIPS_INSTRUCTIONS:
        return (
            f"needs a version of the Python package unicorn other than {_SKIPS_INSTRUCTIONS}, which skips "
            f"Arm instructions (pip install 'unicorn!={_SKIPS_INSTRUCTIONS}')"
        )
    return ""


def argv(elf: Path, board: Board) -> tuple[str, ...]:
    """Returns the command of a separate process that gets the board's facts and communicates by pipe."""
    _require_one_core(elf)
    counter, uart = board.counter, board.uart
    assert uart is not None  # checked by boards.load for bare-metal boards
    return (
        *module_argv(MACHINE),
        str(elf.resolve()),
        *("--cpu", board.core.unicorn, f"--part={board.core.cpuid_part:#x}"),
        *(f"--{region.role}={region.origin:#x}:{region.bytes:#x}" for region in board.regions),
        f"--uart={uart.address:#x}",
        f"--counter={counter.address:#x}:{counter.hz}:{counter.bits}:{counter.instruction_ns}",
    )


def open_line(elf: Path, board: Board) -> Transport:
    return PipeTransport(argv(elf, board))


def _require_one_core(elf: Path) -> None:
    """Raises BoardError for firmware that would wait for a second core."""
    if elf.is_file() and uses_two_cores(elf):
        raise BoardError(
            "this firmware uses 2 cores, but unicorn emulates 1",
            str(elf),
            "use --runner qemu, or compile with --cores 1",
        )
