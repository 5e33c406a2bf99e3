"""Hides what systems do differently: locks, raw terminals, waiting. Modules are imported in use.

Each has a way for POSIX and one for Windows, which has no fcntl, termios or poll().
"""

from __future__ import annotations

import os
import select

from platforms.transport.flow import Flow, LineEnds

BINARY = getattr(
    os, "O_BINARY", 0
)  # Windows writes \r\n for \n through a descriptor that was opened without it
_LOCKED_AT = 1 << 30  # Windows lets nobody read a byte that is locked: one far behind what a file holds


def try_lock(fd: int) -> bool:
    """Locks an open file for this process. False where another holds it; True where files have no locks."""
    try:
        import fcntl
    except ImportError:
        return _try_lock_of_windows(fd)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _try_lock_of_windows(fd: int) -> bool:
    try:
        from msvcrt import LK_NBLCK, locking  # type: ignore[attr-defined, unused-ignore]
    except ImportError:
        return True
    here = os.lseek(fd, 0, os.SEEK_CUR)
    os.lseek(fd, _LOCKED_AT, os.SEEK_SET)
    try:
        locking(fd, LK_NBLCK, 1)
    except OSError:
        return False
    finally:
        os.lseek(fd, here, os.SEEK_SET)
    return True


def user_name() -> str:
    """A name that tells this user's files from other users' in a shared folder."""
    return str(os.getuid()) if hasattr(os, "getuid") else "all"


def set_raw(fd: int) -> None:
    """Lets a terminal pass every byte as it is."""
    import tty

    tty.setraw(fd)


def flow_of(ends: LineEnds) -> Flow:
    """Moves bytes through two ends: by waiting for them where the system can, else by a thread at each."""
    if hasattr(select, "poll"):
        from platforms.transport.polled import PolledFlow

        return PolledFlow(ends)
    from platforms.transport.threaded import ThreadedFlow

    return ThreadedFlow(ends)
