"""Ends a program when this process has ended, however it ended: kill -9 leaves no emulator behind."""

from __future__ import annotations

import shutil
import subprocess

# It waits for the end of its input, which comes when the last process that holds the other end has gone.
_SCRIPT = 'read -r _; kill -9 "$0"'


class Watchdog:
    """Watches a program from construction to stop(); without a shell nothing is watched."""

    def __init__(self, pid: int) -> None:
        shell = shutil.which("sh")
        self._process = shell and subprocess.Popen(
            (shell, "-c", _SCRIPT, str(pid)),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C and a closed terminal are not meant for it
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
