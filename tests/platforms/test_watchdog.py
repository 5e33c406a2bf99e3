"""A program that was started for a line ends with the process that started it, even by kill -9."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from platforms.transport.pipe import PipeTransport

GONE_S = 10.0
# A program that, as QEMU does, goes on when its input ends.
STAYS = "import os, sys, time\nos.write(1, str(os.getpid()).encode() + b'\\n')\ntime.sleep(600)\n"
STARTS_IT = (
    "import sys, time\n"
    "from platforms.transport.pipe import PipeTransport\n"
    "line = PipeTransport((sys.executable, '-c', sys.argv[1]))\n"
    "print(line.read(100, 60.0).decode().strip(), flush=True)\n"
    "time.sleep(600)\n"
)


def is_running(pid: int) -> bool:
    """A process that ended and that nobody waited for does not count."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("path", ["", "/nowhere"], ids=["shell", "no shell"])
def test_killing_us_ends_the_program(repo_root, path, require_tool):
    """By a shell, and as on Windows by Python."""
    require_tool("sh")
    environment = {**os.environ, **({"PATH": path} if path else {})}
    with subprocess.Popen(
        (sys.executable, "-c", STARTS_IT, STAYS),
        cwd=repo_root,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as ours:
        assert ours.stdout is not None
        pid = int(ours.stdout.readline())
        assert is_running(pid)
        os.kill(ours.pid, signal.SIGKILL)
    give_up_at = time.monotonic() + GONE_S
    while is_running(pid) and time.monotonic() < give_up_at:
        time.sleep(0.02)
    still_there = is_running(pid)
    if still_there:
        os.kill(pid, signal.SIGKILL)
    assert not still_there


def test_a_program_that_ends_by_itself_leaves_no_watchdog(require_tool):
    require_tool("sh")
    line = PipeTransport((sys.executable, "-c", "input()"))
    watchdog = line._watchdog._process
    assert watchdog is not None
    assert watchdog.poll() is None
    line.close()
    assert line.exit_status is not None
    assert watchdog.poll() is not None
