"""CMSIS packs on this computer: parts in the index that pyOCD shares, and headers unpacked by other tools."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aot.errors import BoardError, MissingToolError, ToolError, did_you_mean
from aot.trust import user_folder
from boards.bare_chip import MakersHeader
from boards.pack_index import PackPart, core_name, find_part, read_parts

_NOT_THERE = (
    "connect this computer to the internet once; the index is then kept\n"
    "or extract the .pdsc file from the chip's pack: deploy boards add PART --pack FILE.pdsc"
)


@dataclass(frozen=True, slots=True)
class Listed:
    """A part as listed in the index."""

    name: str
    core: str
    pack: str


def search_index(word: str) -> tuple[Listed, ...]:
    """Returns the parts in the index whose names contain `word`."""
    return tuple(
        Listed(name, _core(entry), "{vendor}.{pack} {version}".format(**entry["from_pack"]))
        for name, entry in sorted(_index(_cache()).items())
        if word.upper() in name.upper()
    )


def search_pack(word: str, pdsc: Path) -> tuple[Listed, ...]:
    """Returns the parts in a pack description whose names contain `word`."""
    return tuple(
        Listed(part.name, ", ".join(part.cores), str(part.pack))
        for part in read_pack(pdsc)
        if word.upper() in part.name.upper()
    )


def part_of_index(name: str) -> PackPart:
    """Reads a part from the description of its pack, because the index omits DSP and Helium."""
    cache = _cache()
    index = _index(cache)
    listed = sorted(entry for entry in index if entry.upper().startswith(name.upper()))
    if not listed:
        raise BoardError(
            f'part "{name}" is in no pack of the index{did_you_mean(name.upper(), index)}',
            hint=f"deploy boards search {name[:7]}   lists similar parts",
        )
    pdsc = Path(cache.data_path) / "{vendor}.{pack}.{version}.pdsc".format(**index[listed[0]]["from_pack"])
    return find_part(read_pack(pdsc), name, str(pdsc))


def read_pack(pdsc: Path) -> tuple[PackPart, ...]:
    try:
        return read_parts(pdsc.read_text(encoding="utf-8-sig"), str(pdsc))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise BoardError(f"pack description cannot be read: {reason}", str(pdsc), _NOT_THERE) from error


def _cache() -> Any:
    from cmsis_pack_manager import Cache  # loads a compiled library

    cache = Cache(True, False)
    for folder in (Path(cache.index_path).parent, Path(cache.data_path)):
        folder.mkdir(parents=True, exist_ok=True)
    return cache


def _index(cache: Any) -> Mapping[str, Any]:
    """Returns the local index, downloading it if there is none. The download fails silently if offline."""
    if not cache.index:
        try:
            cache.cache_descriptors()
        except Exception as error:  # its native part raises plain Exception
            raise _no_index(cache, str(error)) from error
    if not cache.index:
        raise _no_index(cache, "nothing was received")
    index: Mapping[str, Any] = cache.index
    return index


def _no_index(cache: Any, reason: str) -> ToolError:
    return MissingToolError(
        "the index of CMSIS packs cannot be downloaded",
        f"{reason}, and {cache.index_path} is empty",
        _NOT_THERE,
    )


def _core(entry: Mapping[str, Any]) -> str:
    return ", ".join(core_name(processor["core"]) for processor in entry["processors"])


# Finds a chip vendor's headers in CMSIS packs unpacked by other tools.

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
