"""Ends a program when this process has ended, however it ended: kill -9 leaves no emulator behind."""

from __future__ import annotations

import shutil
import subprocess
import sys

# Both wait for the end of their input, which comes when the last process that holds the other end has gone.
_SHELL = 'read -r _; kill -9 "$0"'
_PYTHON = """
import os, signal, sys
sys.stdin.read()
os.kill(int(sys.argv[1]), getattr(signal, "SIGKILL", signal.SIGTERM))  # Windows has none that can be caught
"""
_ALONE = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)  # Windows


class Watchdog:
    """Watches a program from construction to stop(), by a shell, which starts soonest, or by Python."""

    def __init__(self, pid: int) -> None:
        shell = shutil.which("sh")
        watching = (shell, "-c", _SHELL) if shell else (sys.executable, "-I", "-c", _PYTHON)
        self._process: subprocess.Popen[bytes] | None = subprocess.Popen(
            (*watching, str(pid)),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C and a closed terminal are not meant for it
            creationflags=_ALONE,
        )

    def stop(self) -> None:
        """Stops watching a program that has ended, whose number may soon be another's."""
        if not self._process:
            return
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process = None
