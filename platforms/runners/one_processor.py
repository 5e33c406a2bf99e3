"""Keeps an emulator on one of this computer's processors.

Its threads hand every byte of a line to one another. On two processors they wake each other up for that,
which takes longer than what the firmware does with the byte.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections import Counter
from contextlib import suppress

_kept: dict[int, int] = {}  # process that runs -> its processor


def keep_on_one_processor(pid: int) -> None:
    """Keeps a process that has just been started on the processor that this thread is on, and waits on.

    Where others of this program are kept there already, another processor is taken. Only Linux can do so.
    """
    if sys.platform != "linux":
        return
    here, taken = ctypes.CDLL(None).sched_getcpu(), Counter(_kept.values())
    processor = min(sorted(os.sched_getaffinity(0)), key=lambda each: (taken[each], each != here))
    with suppress(OSError):  # it has ended already
        os.sched_setaffinity(pid, {processor})
        _kept[pid] = processor


def let_go(pid: int) -> None:
    """Says that the process has ended."""
    _kept.pop(pid, None)
