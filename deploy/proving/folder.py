"""The evidence folder: pages, facts, files of the chapters, and a SHA-256 of each."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from aot.errors import OutputError
from codegen.version import VERSION
from deploy.proving.chapter import Chapter, Finding, Standing
from deploy.proving.tracing.against import FACTS, HASHES, MARK, Fate, OlderEvidence, read_older, refused
from deploy.reporting.web_page import web_page

# The pages of the evidence: an overview, and one for each chapter.

_PACKAGE, _SCRIPT = "deploy.proving", "evidence"
_CLASSES = {
    Standing.PROVEN.value: "good",
    Standing.EXCEPTIONS.value: "partly",
    Standing.NOT_RUN.value: "open",
    Standing.FAILED.value: "bad",
}
_OUTCOMES = {
    Fate.STANDS.value: "good",
    Fate.SAME_TOOLS.value: "partly",
    Fate.INVALID.value: "bad",
    Fate.UNEXPLAINED.value: "bad",
    Fate.NONE.value: "open",
}


def pages_of(facts: Mapping[str, Any]) -> dict[str, str]:
    """Returns the pages by file name, from the facts in evidence.json."""
    pages = {
        "index.html": web_page(_PACKAGE, "index", _SCRIPT, facts=facts, classes=_CLASSES, outcomes=_OUTCOMES)
    }
    for chapter in facts["chapters"]:
        pages[f"{chapter['name']}.html"] = web_page(
            _PACKAGE, "chapter", _SCRIPT, facts=facts, chapter=chapter, classes=_CLASSES
        )
    return pages


def write_folder(directory: Path, files: Mapping[str, bytes]) -> None:
    """Writes the folder completely or not at all, replacing an earlier one. Raises OutputError."""
    require_folder_place(directory)
    directory = directory.resolve()
    partial = directory.with_name(f".{directory.name}.{os.urandom(4).hex()}")
    try:
        _write_all(partial, files)
        if directory.exists():
            shutil.rmtree(directory)
        partial.rename(directory)
    except OSError as error:
        raise OutputError(f"the evidence cannot be written: {error.strerror}", str(directory)) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def read_folder(directory: Path) -> OlderEvidence:
    """Reads an earlier folder. Raises InputError if its pages do not match its facts."""
    older = read_older(directory)
    if older.facts["solder"] != f"{VERSION}, {MARK}":
        return older  # the pages of another version cannot be reproduced
    for name, text in pages_of(older.facts).items():
        if (directory / name).read_text(encoding="utf-8") != text:
            raise refused(f"{name} is not the page of what {FACTS} says: it was changed", directory)
    return older


def files_of(facts: Mapping[str, Any], chapters: Iterable[tuple[Chapter, Finding]]) -> dict[str, bytes]:
    """Returns all files by path in the folder. The same evidence gives the same bytes."""
    files = {FACTS: (json.dumps(facts, indent=1) + "\n").encode()}
    files |= {name: text.encode() for name, text in pages_of(facts).items()}
    for chapter, finding in chapters:
        files |= {f"{chapter.name}/{name}": data for name, data in finding.files.items()}
    return files | {HASHES: _hashes(files).encode()}


def _hashes(files: Mapping[str, bytes]) -> str:
    """Returns lines in the format of sha256sum --check."""
    return "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))


def require_folder_place(directory: Path) -> None:
    """Raises OutputError unless the folder is new, empty, or contains earlier evidence."""
    if directory.exists() and not directory.is_dir():
        raise OutputError("a file is where the folder should be", str(directory), "name a new folder")
    if not directory.is_dir() or not any(directory.iterdir()):
        return
    try:
        listed = _listed(directory)
    except (OSError, UnicodeDecodeError):
        listed = set()
    there = {path.relative_to(directory).as_posix() for path in directory.rglob("*") if not path.is_dir()}
    if not listed or there - listed:
        what = f"it holds {min(there - listed)}" if listed else "it is not a folder of evidence"
        raise OutputError(
            f"the folder is not empty and {what}, so it is left alone", str(directory), "name a new folder"
        )


def _listed(directory: Path) -> set[str]:
    """Returns the files of an earlier folder, or an empty set for any other folder."""
    if MARK not in (directory / FACTS).read_text(encoding="utf-8")[:200]:
        return set()
    lines = (directory / HASHES).read_text(encoding="utf-8").splitlines()
    return {line.partition("  ")[2] for line in lines} | {HASHES}


def _write_all(root: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
