"""A pseudo-terminal that another program provides as its serial port."""

from __future__ import annotations

import os
from pathlib import Path

from platforms.transport.base import LineClosedError
from platforms.transport.descriptor import DescriptorTransport
from platforms.transport.flow import ends_of
from platforms.transport.lock import PortLock
from platforms.transport.system import set_raw


class PtyTransport(DescriptorTransport):
    """Opens the pseudo-terminal exclusively, in raw mode. It has no modem lines and no baud rate."""

    def __init__(self, path: Path) -> None:
        self._lock = PortLock(str(path))
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
        except OSError as error:
            self._lock.release()
            raise LineClosedError(f"cannot open {path}: {error.strerror}") from error
        self._is_open = True
        set_raw(self._fd)
        super().__init__(str(path), ends_of(self._fd, self._fd))

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            os.close(self._fd)
            self._lock.release()
