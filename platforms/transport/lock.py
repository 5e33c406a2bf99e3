"""Keeps a line to one process by a lock file in the temporary folder, which names its holder."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from platforms.transport.base import LineBusyError
from platforms.transport.system import try_lock, user_name


class PortLock:
    """A lock that is held from construction to release(), or until the process ends, however it ends."""

    def __init__(self, port: str) -> None:
        self._fd = os.open(lock_path(port), os.O_RDWR | os.O_CREAT, 0o600)
        if not try_lock(self._fd):
            holder = os.read(self._fd, 32).decode("ascii", "replace").strip()
            os.close(self._fd)
            raise busy(port, f"process {holder}")
        os.ftruncate(self._fd, 0)
        os.write(self._fd, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        os.close(self._fd)


def busy(port: str, holder: str) -> LineBusyError:
    return LineBusyError(
        f"{port} is in use by {holder}",
        hint="two programs cannot share one line: end the other one, or choose another port",
    )


def lock_path(port: str) -> Path:
    """The lock's file: one per port, whatever link names it, and per user, since the folder is shared."""
    one_name = port if "://" in port else str(Path(port).resolve())
    slug = re.sub(r"\W+", "-", one_name).strip("-")
    return Path(tempfile.gettempdir()) / f"solder-{user_name()}-{slug}.lock"
