"""Finds a chip maker's headers in the CMSIS packs that other tools have unpacked on this computer."""

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
    """The folder that tools for packs agree on: vendor, name and version are folders below it."""
    if root := os.environ.get("CMSIS_PACK_ROOT"):
        return Path(root)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "Arm" / "Packs"
    return user_folder("XDG_CACHE_HOME", ".cache") / "arm" / "packs"


def header_options(makers: MakersHeader) -> tuple[str, ...]:
    """The compiler's options for the maker's header; none where it or its core's is not on this computer."""
    device, core = _folder_of(makers.pack, makers.file), _folder_of(_CORE_PACK, makers.core_file)
    if device is None or core is None:
        return ()
    defined = (f"-D{makers.define}",) if makers.define else ()
    return (*(f'"-isystem{folder.as_posix()}"' for folder in (device, core)), *defined)


def _folder_of(pack: str, file: str) -> Path | None:
    """The folder of that file in the newest version of the pack that has it."""
    vendor, _, name = pack.partition(".")
    found = (
        next(iter(sorted(version.rglob(file))), None) for version in _versions(pack_root() / vendor / name)
    )
    return next((path.parent.resolve() for path in found if path is not None), None)


def _versions(folder: Path) -> Iterator[Path]:
    """Yields the folders of versions, the newest first."""
    entries = folder.iterdir() if folder.is_dir() else ()
    versions = [path for path in entries if path.is_dir()]
    return iter(sorted(versions, key=lambda path: _numbers(path.name), reverse=True))


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]
