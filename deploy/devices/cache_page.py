"""Lists caches between commands and deletes the least recently used entries."""

from __future__ import annotations

import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from aot.errors import InputError
from boards.board_text import size_text
from deploy.cli.command_result import Answer
from deploy.cli.console import table
from deploy.devices.build_cache import IN_USE_S, MOST_KEPT, cache_folder, used_at

_AGES = ((86400, "days"), (3600, "hours"), (60, "minutes"))  # each unit is used from two of it


@dataclass(frozen=True, slots=True)
class KeptFolder:
    """A folder of the cache: built firmware, a model's library, object files of tuning."""

    name: str
    bytes: int
    unused_s: int


def cache(keep: int | None = None) -> Answer:
    """Lists cached firmware. With `keep`, deletes all but that many of the most recently used folders.

    Deleted entries are built again when needed.
    """
    if keep is not None and keep < 0:
        raise InputError(f"{keep} folders cannot be kept", hint="--keep 0 deletes all")
    place = cache_folder()
    paths = sorted(place.iterdir(), key=used_at, reverse=True) if place.is_dir() else []
    found = [_kept(path) for path in paths]
    kept, gone = (found, []) if keep is None else (found[:keep], found[keep:])
    for folder in gone:
        shutil.rmtree(place / folder.name, ignore_errors=True)
    facts = {
        "folder": str(place),
        "most_kept": MOST_KEPT,
        "kept": [asdict(folder) for folder in kept],
        "deleted": [asdict(folder) for folder in gone],
    }
    return Answer(facts, _page(place, kept, gone))


def _kept(path: Path) -> KeptFolder:
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return KeptFolder(path.name, size, max(0, round(time.time() - used_at(path))))


def _page(place: Path, kept: list[KeptFolder], gone: list[KeptFolder]) -> str:
    rows = [(folder.name, size_text(folder.bytes), _age(folder.unused_s)) for folder in kept]
    says = [
        f"{len(kept)} folders, {_size(kept)} in {place}",
        f"at most {MOST_KEPT} folders unused for {_age(round(IN_USE_S))} are kept; --keep N deletes more",
    ]
    if gone:
        says.insert(0, f"deleted: {len(gone)} folders, {_size(gone)}")
    listed = [table(("kept", "size", "unused for"), rows), ""] if rows else []
    return "\n".join((*listed, *says))


def _size(folders: list[KeptFolder]) -> str:
    return size_text(sum(folder.bytes for folder in folders))


def _age(seconds: int) -> str:
    ages = (f"{seconds // unit} {name}" for unit, name in _AGES if seconds >= 2 * unit)
    return next(ages, f"{seconds} seconds")
