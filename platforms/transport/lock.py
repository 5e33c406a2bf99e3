"""Reserves a line for one process with a lock file that contains the holder's PID."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from aot.errors import MachineError
from platforms.transport.base import LineBusyError
from platforms.transport.system import BINARY, try_lock, user_name


class PortLock:
    """A lock held from construction to release(), or until the process ends for any reason."""

    def __init__(self, port: str) -> None:
        self._fd = _opened(lock_path(port))
        if not try_lock(self._fd):
            holder = os.read(self._fd, 32).decode("ascii", "replace").strip()
            os.close(self._fd)
            raise busy(port, f"process {holder}")
        os.ftruncate(self._fd, 0)
        os.write(self._fd, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        os.close(self._fd)


def _opened(path: Path) -> int:
    """Opens a lock file, but not a link: an attacker could choose its target in a shared folder."""
    follows_none = getattr(os, "O_NOFOLLOW", 0)  # Windows lacks it, but its temporary folder is private
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | BINARY | follows_none, 0o600)
    except OSError as error:
        what = "it is a link" if path.is_symlink() else error.strerror
        raise MachineError(
            f"the lock file of the port cannot be opened: {what}", str(path), "remove the file"
        ) from error


def busy(port: str, holder: str) -> LineBusyError:
    return LineBusyError(
        f"{port} is in use by {holder}",
        hint="only one program can use a port: end the other one, or choose another port",
    )


def lock_path(port: str) -> Path:
    """Returns the lock file: one per port, independent of links, and per user, as the folder is shared."""
    one_name = port if "://" in port else str(Path(port).resolve())
    slug = re.sub(r"\W+", "-", one_name).strip("-")
    return Path(tempfile.gettempdir()) / f"solder-{user_name()}-{slug}.lock"
