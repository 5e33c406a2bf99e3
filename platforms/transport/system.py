"""Hides what systems do differently: locks, raw terminals, waiting. Modules are imported in use.

Windows has none of these modules. It gives a COM port to one process only, so ports need no lock there.
"""

from __future__ import annotations

import os
import select

from aot.errors import ToolError


def try_lock(fd: int) -> bool:
    """Locks an open file for this process. False where another holds it; True where files have no locks."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def user_name() -> str:
    """A name that tells this user's files from other users' in a shared folder."""
    return str(os.getuid()) if hasattr(os, "getuid") else "all"


def set_raw(fd: int) -> None:
    """Lets a terminal pass every byte as it is."""
    import tty

    tty.setraw(fd)


def require_waiting(name: str) -> None:
    """Raises ToolError where this system cannot wait for pipes and pseudo terminals."""
    if not hasattr(select, "poll"):
        raise ToolError(
            f"this system cannot talk to {name} through a pipe or a socket",
            hint="connect a board by its serial port; or run this under Linux, macOS or WSL",
        )


def can_read(fd: int, deadline_s: float) -> bool:
    """Waits until there is something to read; False where the time is up first."""
    return _is_ready(fd, select.POLLIN, deadline_s)


def can_write(fd: int, deadline_s: float) -> bool:
    """Waits until something can be written; False where the time is up first."""
    return _is_ready(fd, select.POLLOUT, deadline_s)


def _is_ready(fd: int, event: int, deadline_s: float) -> bool:
    waiter = select.poll()
    waiter.register(fd, event)
    return bool(waiter.poll(max(0.0, deadline_s) * 1000))
