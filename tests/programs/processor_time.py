"""Limits of processor time, which other work on the machine does not use up as it does time on the clock."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_USED = slice(11, 15)  # clock ticks, behind the name in /proc/PID/stat


def run_limited(argv: Sequence[str | Path], limit_s: int) -> subprocess.CompletedProcess[str]:
    """Runs a program, which a signal ends when it has used up so much. One that only waits is not ended."""
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        limit(process, limit_s)
        out, err = process.communicate()
        return subprocess.CompletedProcess(argv, process.returncode, out, err)


def limit(process: subprocess.Popen[str], limit_s: int) -> None:
    if sys.platform == "linux":
        import resource

        resource.prlimit(process.pid, resource.RLIMIT_CPU, (limit_s, limit_s + 1))


def _so_far_s() -> float:
    """By this process, those that it has waited for, and those that it has started and that still run."""
    times = os.times()
    ended_s = times.user + times.system + times.children_user + times.children_system
    return ended_s + (sum(_used_s(child) for child in _children("self")) if _has_children() else 0.0)


def _has_children() -> bool:
    """Most tests start no program, and a list of none takes as long to read as a quick test does."""
    with suppress(ChildProcessError, AttributeError):  # it has none, or it is on Windows
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return True
    return False


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment from which on processor time is counted."""

    before_s: float = field(default_factory=_so_far_s)

    def used_s(self) -> float:
        """By this process since then and by those that it has started, some of them before."""
        return _so_far_s() - self.before_s


def _children(process: str) -> Iterator[str]:
    """None where Linux does not list them."""
    tasks = Path("/proc", process, "task")
    for task in tasks.iterdir() if tasks.is_dir() else ():  # a pattern takes three times as long
        with suppress(OSError):  # it has ended just now
            yield from (task / "children").read_text(encoding="ascii").split()


def _used_s(process: str) -> float:
    """With its children, and theirs."""
    with suppress(OSError):
        words = Path("/proc", process, "stat").read_text().rpartition(")")[2].split()
        ticks = sum(int(word) for word in words[_USED])
        return ticks / os.sysconf("SC_CLK_TCK") + sum(_used_s(child) for child in _children(process))
    return 0.0
