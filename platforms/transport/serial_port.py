"""A serial port of this machine, using pyserial."""

from __future__ import annotations

import contextlib
import errno
import time

import serial

from platforms.transport.base import LineClosedError, Transport, stuck
from platforms.transport.lock import PortLock, busy

SLICE_S = 0.05  # pyserial's timeout, after which a read checks its deadline
_LIST = "list the serial ports of this machine with: deploy doctor"
REASONS = {
    errno.ENOENT: ("the port does not exist", _LIST),
    errno.ENOTTY: ("this is not a serial port", _LIST),
    errno.EISDIR: ("this is a folder", _LIST),
    errno.EACCES: ("permission denied", "on Linux: sudo usermod -aG dialout $USER, then log in again"),
}


class SerialTransport(Transport):
    """Opens the port exclusively."""

    def __init__(self, port: str, baud: int) -> None:
        self.name = port
        self.bits_per_second = baud
        self._lock = PortLock(port)
        try:
            self._port = _open(port, baud)
        except BaseException:
            self._lock.release()
            raise
        self._is_open = True

    def read(self, max_bytes: int, deadline_s: float) -> bytes:
        give_up_at = time.monotonic() + deadline_s
        while True:
            received = self._read_some(max_bytes)
            if received or time.monotonic() >= give_up_at:
                return received

    def _read_some(self, max_bytes: int) -> bytes:
        try:
            first = self._port.read(1)
            waiting = min(self._port.in_waiting, max_bytes - 1) if first else 0
            return bytes(first + self._port.read(waiting))
        except (serial.SerialException, OSError) as error:
            raise self._closed() from error

    def write(self, data: bytes, deadline_s: float) -> None:
        try:
            if self._port.write_timeout != deadline_s:
                self._port.write_timeout = deadline_s
            self._port.write(data)
        except serial.SerialTimeoutException as error:
            raise stuck(self.name, deadline_s) from error
        except (serial.SerialException, OSError) as error:
            raise self._closed() from error

    def set_rate(self, bits_per_second: int) -> bool:
        try:
            self._port.baudrate = bits_per_second
        except (ValueError, serial.SerialException, OSError):  # not supported by this adapter
            return False
        self.bits_per_second = bits_per_second
        return True

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._port.close()
            self._lock.release()

    def _closed(self) -> LineClosedError:
        return LineClosedError(
            f"{self.name} is gone", hint="check whether the board was unplugged or restarted its USB"
        )


def _number(error: serial.SerialException) -> int:
    """Returns the system's error number, or that of the cause: `could not configure` has none."""
    cause = error.__context__
    return error.errno or (cause.args[0] if cause is not None and cause.args else 0)


def _open(port: str, baud: int) -> serial.Serial:
    try:
        opened = serial.Serial(port, baud, timeout=SLICE_S, exclusive=True)
    except serial.SerialException as error:
        if error.errno in (errno.EAGAIN, errno.EWOULDBLOCK, errno.EBUSY):
            raise busy(port, "another program") from error
        reason, hint = REASONS.get(_number(error), (str(error), ""))
        raise LineClosedError(f"cannot open {port}: {reason}", hint=hint) from error
    with contextlib.suppress(AttributeError, OSError, ValueError, NotImplementedError):
        # Otherwise FTDI chips delay every reply by 16 ms. Supported on Linux, for some ports.
        opened.set_low_latency_mode(True)
    return opened
