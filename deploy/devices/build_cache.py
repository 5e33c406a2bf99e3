"""Caches built firmware between commands, to avoid building a model twice."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from aot.errors import OutputError
from aot.trust import require_own, user_folder

MOST_KEPT = 30  # folders; the least recently used are deleted first
_OURS_ALONE = 0o700  # private, because programs in it are executed
IN_USE_S = 3600.0  # a folder used within this time may still be in use by a process


def cache_folder() -> Path:
    """Returns the operating system's cache folder. Raises MachineError if it belongs to another user."""
    folder = _cache_folder()
    if folder.exists():
        require_own(folder, "the folder for built firmware")
    return folder


def _cache_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "solder" / "cache"
    return user_folder("XDG_CACHE_HOME", ".cache") / "solder"


def cached(name: str, make: Callable[[Path], None]) -> Path:
    """Returns the folder with this name, creating it if needed. It appears only when it is complete."""
    folder = cache_folder()
    place = folder / name
    if _use_again(place):
        return place
    try:
        folder.mkdir(mode=_OURS_ALONE, parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=".", dir=folder))
    except OSError as error:
        raise OutputError(
            f"the folder for built firmware cannot be created: {error.strerror}",
            str(folder),
            "set XDG_CACHE_HOME to a writable folder",
        ) from error
    try:
        make(partial)
        _move(partial, place)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    _forget_oldest(folder)
    return place


def _use_again(place: Path) -> bool:
    """Returns whether the folder exists, and marks it as used. Another process may delete it at any time."""
    try:
        os.utime(place)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:  # a read-only cache can still be used
        return place.is_dir()
    return True


def _move(partial: Path, place: Path) -> None:
    try:
        partial.rename(place)
    except OSError:
        if not place.is_dir():  # otherwise another process has created the same folder meanwhile
            raise


def _forget_oldest(folder: Path) -> None:
    """Deletes the least recently used folders, and incomplete ones of killed processes.

    Recently touched folders are kept, because another process may be creating or using them.
    """
    paths = list(folder.iterdir())
    begun = [path for path in paths if path.name.startswith(".")]
    kept = [path for path in paths if path not in begun]
    idle_since = time.time() - IN_USE_S
    for old in (*begun, *sorted(kept, key=used_at, reverse=True)[MOST_KEPT:]):
        if used_at(old) < idle_since:
            shutil.rmtree(old, ignore_errors=True)


def used_at(place: Path) -> float:
    """Returns the time of the last use, or 0 if another process has just deleted the folder."""
    try:
        return place.stat().st_mtime
    except FileNotFoundError:
        return 0.0
