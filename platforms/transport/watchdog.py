"""Ends a program when this process ends for any reason, so that kill -9 leaves no emulator running."""

from __future__ import annotations

import shutil
import subprocess
import sys

# Both wait for the end of their input, which occurs when the last process with the other end exits.
_SHELL = 'read -r _; kill -9 "$0"'
_PYTHON = """
import os, signal, sys
sys.stdin.read()
os.kill(int(sys.argv[1]), getattr(signal, "SIGKILL", signal.SIGTERM))  # Windows has none that can be caught
"""
_ALONE = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)  # Windows only


class Watchdog:
    """Monitors a program from construction to stop(), with a shell, which starts fastest, or with Python."""

    def __init__(self, pid: int) -> None:
        shell = shutil.which("sh")
        watching = (shell, "-c", _SHELL) if shell else (sys.executable, "-I", "-c", _PYTHON)
        self._process: subprocess.Popen[bytes] | None = subprocess.Popen(
            (*watching, str(pid)),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # protects it from Ctrl-C and from closing the terminal
            creationflags=_ALONE,
        )

    def stop(self) -> None:
        """Stops monitoring a program that has ended, because its pid may be reused."""
        if not self._process:
            return
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process = None
