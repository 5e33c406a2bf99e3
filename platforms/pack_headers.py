"""Finds a chip vendor's headers in CMSIS packs unpacked by other tools."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from aot.trust import user_folder
from boards.bare_chip import MakersHeader

_CORE_PACK = "ARM.CMSIS"


def pack_root() -> Path:
    """Returns the shared folder of CMSIS tools, with subfolders for vendor, pack and version."""
    if root := os.environ.get("CMSIS_PACK_ROOT"):
        return Path(root)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "Arm" / "Packs"
    return user_folder("XDG_CACHE_HOME", ".cache") / "arm" / "packs"


def header_options(makers: MakersHeader) -> tuple[str, ...]:
    """Returns compiler options for the vendor's header, or () if it or the core's header is missing."""
    device, core = _folder_of(makers.pack, makers.file), _folder_of(_CORE_PACK, makers.core_file)
    if device is None or core is None:
        return ()
    defined = (f"-D{makers.define}",) if makers.define else ()
    return (*(f'"-isystem{folder.as_posix()}"' for folder in (device, core)), *defined)


def _folder_of(pack: str, file: str) -> Path | None:
    """Returns the folder of `file` in the newest version of the pack that contains it."""
    vendor, _, name = pack.partition(".")
    found = (
        next(iter(sorted(version.rglob(file))), None) for version in _versions(pack_root() / vendor / name)
    )
    return next((path.parent.resolve() for path in found if path is not None), None)


def _versions(folder: Path) -> Iterator[Path]:
    """Yields version folders, newest first."""
    entries = folder.iterdir() if folder.is_dir() else ()
    versions = [path for path in entries if path.is_dir()]
    return iter(sorted(versions, key=lambda path: _numbers(path.name), reverse=True))


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]
