"""Prints each subprocess command for -v, with a Python audit hook."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Hook:
    """Prints new processes while `is_heard`.

    Python cannot remove an audit hook, so it stays, switched off.
    """

    def __init__(self) -> None:
        self.is_installed = False
        self.is_heard = False

    def __call__(self, event: str, values: tuple[Any, ...]) -> None:
        if self.is_heard and event == "subprocess.Popen":
            _, argv, folder, _ = values
            _print(argv, folder)


_hook = _Hook()


@contextmanager
def command_lines_shown() -> Iterator[None]:
    """Prints subprocess commands of all threads to stderr inside the block."""
    if not _hook.is_installed:
        sys.addaudithook(_hook)
        _hook.is_installed = True
    _hook.is_heard = True
    try:
        yield
    finally:
        _hook.is_heard = False


def _print(argv: Any, folder: Any) -> None:
    words = argv if isinstance(argv, str) else shlex.join(os.fsdecode(word) for word in argv)
    inside = f"cd {shlex.quote(os.fsdecode(folder))} && " if folder else ""
    print(f"+ {inside}{words}", file=sys.stderr)
