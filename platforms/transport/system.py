"""Hides differences between operating systems: locks, raw terminals, waiting. Imports modules on use.

Everything has a POSIX and a Windows implementation, because Windows lacks fcntl, termios and poll().
"""

from __future__ import annotations

import os
import select

from platforms.transport.flow import Flow, LineEnds

BINARY = getattr(os, "O_BINARY", 0)  # otherwise Windows converts \n to \r\n on writing
_LOCKED_AT = 1 << 30  # Windows makes locked bytes unreadable, so lock one far beyond the content


def try_lock(fd: int) -> bool:
    """Locks an open file. Returns False if another process holds it, and True if locks are not supported."""
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
    """Returns a name that distinguishes this user's files from other users' in a shared folder."""
    return str(os.getuid()) if hasattr(os, "getuid") else "all"


def set_raw(fd: int) -> None:
    """Switches a terminal to raw mode, so that it passes every byte unchanged."""
    import tty

    tty.setraw(fd)


def flow_of(ends: LineEnds) -> Flow:
    """Returns a flow that polls both ends or, if the system cannot, uses a thread for each."""
    if hasattr(select, "poll"):
        from platforms.transport.polled import PolledFlow

        return PolledFlow(ends)
    from platforms.transport.threaded import ThreadedFlow

    return ThreadedFlow(ends)
