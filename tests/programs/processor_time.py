"""Runs programs with a limit of processor time, which other work on the machine does not use up."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def run_limited(argv: Sequence[str | Path], limit_s: int) -> subprocess.CompletedProcess[str]:
    """Runs a program and kills it after `limit_s` seconds of processor time. Waiting does not count."""
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        limit(process, limit_s)
        out, err = process.communicate()
        return subprocess.CompletedProcess(argv, process.returncode, out, err)


def limit(process: subprocess.Popen[str], limit_s: int) -> None:
    """Limits the processor time of a running process; on Linux only."""
    if sys.platform == "linux":
        import resource

        resource.prlimit(process.pid, resource.RLIMIT_CPU, (limit_s, limit_s + 1))
