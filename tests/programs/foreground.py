"""Programs started as a terminal starts them in its foreground: Ctrl-C reaches them."""

import signal
import subprocess
from collections.abc import Sequence
from typing import Any


def start_in_foreground(argv: Sequence[str], **pipes: Any) -> subprocess.Popen[str]:
    """Where the tests run in the background of a script, SIGINT is ignored, which programs inherit."""
    return subprocess.Popen(argv, text=True, preexec_fn=_hear_ctrl_c, **pipes)


def _hear_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
