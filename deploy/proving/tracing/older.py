"""Reads and verifies the facts in an earlier folder of evidence."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aot.errors import InputError
from deploy.proving.chapter import Standing

SCHEMA = 2  # of evidence.json: the first version that contains the grounds
MARK = "made by deploy evidence"
FACTS, HASHES = "evidence.json", "SHA256SUMS"


@dataclass(frozen=True)
class OlderEvidence:
    """The facts of a folder: findings and their grounds."""

    facts: dict[str, Any]
    sha256: str  # of evidence.json


def read_older(directory: Path) -> OlderEvidence:
    """Reads a folder. Raises InputError if it contains no evidence or was modified."""
    try:
        data = (directory / FACTS).read_bytes()
        listed = _listed(directory)
        facts = json.loads(data)
    except (OSError, ValueError, RecursionError) as error:
        raise refused("it is not a folder of evidence", directory) from error
    if not isinstance(facts, dict) or MARK not in str(facts.get("solder")):
        raise refused("it is not a folder of evidence", directory)
    _require_same(directory, listed)
    if facts.get("schema") != SCHEMA:
        raise refused(
            f"its {FACTS} has schema {facts.get('schema')}, and {SCHEMA} can be compared", directory
        )
    worst = max((Standing(chapter["verdict"]) for chapter in facts["chapters"]), key=list(Standing).index)
    if list(Standing).index(worst) > list(Standing).index(Standing(facts["verdict"])):
        raise refused(f"its verdict is {facts['verdict']}, and that of a chapter is {worst.value}", directory)
    return OlderEvidence(facts, listed[FACTS])


def _listed(directory: Path) -> dict[str, str]:
    """Returns the SHA-256 of each file by path."""
    lines = (directory / HASHES).read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def _require_same(directory: Path, listed: Mapping[str, str]) -> None:
    """Raises InputError unless the folder contains exactly the listed files."""
    paths = {path.relative_to(directory).as_posix(): path for path in directory.rglob("*") if path.is_file()}
    found = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in paths.items()}
    found.pop(HASHES)
    for name in sorted({**found, **listed, FACTS: ""}):
        if found.get(name) != listed.get(name):
            raise refused(f"{name} is not the file that {HASHES} lists: it was changed", directory)


def refused(what: str, directory: Path) -> InputError:
    return InputError(what, str(directory), "make a folder: deploy evidence OLDER.tar -o OLDER_FOLDER")
