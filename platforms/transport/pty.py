"""A pseudo terminal that another program offers as its serial port."""

from __future__ import annotations

import os
import tty
from pathlib import Path

from platforms.transport.base import LineClosedError
from platforms.transport.descriptor import DescriptorTransport


class PtyTransport(DescriptorTransport):
    """Opens the terminal in raw mode; modem lines and baud rates mean nothing here."""

    def __init__(self, path: Path) -> None:
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
        except OSError as error:
            raise LineClosedError(f"cannot open {path}: {error.strerror}") from error
        self._is_open = True
        tty.setraw(self._fd)
        super().__init__(str(path), self._fd, self._fd)

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            os.close(self._fd)
