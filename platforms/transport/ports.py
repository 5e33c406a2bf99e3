"""Finds a board's serial port by its USB ids and serial number."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from serial.tools import list_ports

from boards.board import Board
from platforms.transport.base import LineBusyError, LineClosedError, Transport
from platforms.transport.named import open_named

DEFAULT_BAUD = 115_200
APPEARS_S = 8.0  # for a board to reappear on the USB after writing its flash
_AGAIN_S = 0.2
_CONSOLE_ROLES = ("probe", "application")  # a bootloader's port uses another protocol


@dataclass(frozen=True, slots=True)
class UsbPort:
    """A serial port of a USB device."""

    device: str  # for example /dev/ttyACM0 or COM3
    vid: int
    pid: int
    serial: str


def usb_ports() -> tuple[UsbPort, ...]:
    found = (p for p in list_ports.comports() if p.vid is not None and p.pid is not None)
    return tuple(sorted((UsbPort(p.device, p.vid, p.pid, p.serial_number or "") for p in found), key=str))


def boards_at(port: UsbPort, boards: Iterable[Board]) -> tuple[str, ...]:
    """Returns the names of the boards with the port's USB ids."""
    return tuple(board.name for board in boards if (port.vid, port.pid) in _console_ids(board))


def _console_ids(board: Board) -> set[tuple[int, int]]:
    return {(usb.vid, usb.pid) for usb in board.usb if usb.role in _CONSOLE_ROLES}


def port_of(board: Board, ports: Iterable[UsbPort], serial: str | None) -> str:
    """Returns the board's only port, found by USB ids or, if given, the serial number."""
    known = _console_ids(board)
    ports = tuple(ports)
    fitting = [p for p in ports if (p.serial == serial if serial else (p.vid, p.pid) in known)]
    if len(fitting) == 1:
        return fitting[0].device
    if fitting:
        raise LineBusyError(
            f"{len(fitting)} connected boards match {board.name}",
            "\n".join(f"{p.device}: serial number {p.serial or 'none'}" for p in fitting),
            "choose one with --serial NUMBER or --port PORT",
        )
    wanted = f" with serial number {serial}" if serial else ""
    raise LineClosedError(
        f"no serial port of {board.name}{wanted} was found",
        "\n".join(f"{p.device}: {p.vid:04x}:{p.pid:04x}, serial number {p.serial or 'none'}" for p in ports)
        or "there is no USB serial port",
        "connect the board, or name its port: --port PORT",
    )


def find_port(board: Board, serial: str | None, port: str | None) -> str:
    return port or port_of(board, usb_ports(), serial)


def open_port_of(board: Board, serial: str | None, port: str | None, wait_s: float = 0.0) -> Transport:
    """Opens the board's port. Waits up to `wait_s` for a board that is reconnecting after a flash write."""
    give_up_at = time.monotonic() + wait_s
    baud = board.console.baud if board.console else DEFAULT_BAUD
    while True:
        try:
            return open_named(find_port(board, serial, port), baud)
        except LineClosedError:
            if time.monotonic() >= give_up_at:
                raise
            time.sleep(_AGAIN_S)
