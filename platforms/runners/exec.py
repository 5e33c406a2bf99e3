"""Runs host firmware as a process connected by stdin and stdout."""

from __future__ import annotations

from pathlib import Path

from boards.board import Board
from boards.board_keys import Section
from platforms.transport.base import Transport
from platforms.transport.pipe import PipeTransport

SECTION = Section()


def missing() -> str:
    return ""


def argv(elf: Path, _board: Board) -> tuple[str, ...]:
    return (str(elf.resolve()),)


def open_line(elf: Path, board: Board) -> Transport:
    return PipeTransport(argv(elf, board))
