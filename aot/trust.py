"""Decides whether to trust files that no user named: files found by search, modules of child processes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from aot.errors import MachineError

_ROOT = 0
# Python 3.10 has no -P, which removes the current folder from the module search path.
_RUN_MODULE = (
    "import runpy, sys; sys.path[:] = filter(None, sys.path); runpy.run_module({!r}, None, '__main__', True)"
)


def require_own(path: Path, what: str) -> None:
    """Raises MachineError if a file or folder found by search belongs to another user.

    Files of root are trusted; a link is trusted only if both it and its target are. Not checked on Windows.
    """
    if not hasattr(os, "geteuid"):
        return
    owner = next((o for o in (path.lstat().st_uid, path.stat().st_uid) if o not in _trusted_users()), None)
    if owner is None:
        return
    raise MachineError(
        f"{what} belongs to user {owner}, and you are user {os.geteuid()}: Solder does not use it",
        str(path),
        f"if you trust it: chown {os.geteuid()} {path}\nif not, work in a folder that you own",
    )


def _trusted_users() -> set[int]:
    """Returns root and this user; under sudo also the user who called it."""
    caller = os.environ.get("SUDO_UID", "") if os.geteuid() == _ROOT else ""
    return {_ROOT, os.geteuid(), *([int(caller)] if caller.isdecimal() else [])}


def user_folder(variable: str, name: str) -> Path:
    """Returns an XDG folder; its variable counts only if it holds an absolute path."""
    named = Path(os.environ.get(variable, ""))
    return named if named.is_absolute() else Path.home() / name


def module_argv(module: str) -> tuple[str, ...]:
    """Returns the start of a command that runs a module in a new Python that ignores the current folder."""
    if sys.version_info >= (3, 11):
        return (sys.executable, "-P", "-m", module)
    return (sys.executable, "-c", _RUN_MODULE.format(module))
