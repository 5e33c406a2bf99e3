"""Pins an emulator to one of this computer's processors.

Its threads pass every byte of a line to each other. On two processors, waking each other up costs more time
than the firmware spends on the byte.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections import Counter
from contextlib import suppress

_kept: dict[int, int] = {}  # pid of a running process -> its processor


def keep_on_one_processor(pid: int) -> None:
    """Pins a new process to the processor of the current thread, which waits for it.

    If other processes are pinned there, the least used processor is chosen. Works on Linux only.
    """
    if sys.platform != "linux":
        return
    here, taken = ctypes.CDLL(None).sched_getcpu(), Counter(_kept.values())
    processor = min(sorted(os.sched_getaffinity(0)), key=lambda each: (taken[each], each != here))
    with suppress(OSError):  # the process may have ended
        os.sched_setaffinity(pid, {processor})
        _kept[pid] = processor


def let_go(pid: int) -> None:
    """Frees the processor of a process that has ended."""
    _kept.pop(pid, None)
