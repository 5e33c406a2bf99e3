"""Reads the facts of an earlier folder of evidence, as they were written."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from aot.errors import InputError
from aot.records import dataclass

SCHEMA = 2  # of evidence.json: the first that says what evidence rests on
MARK = "made by deploy evidence"
FACTS, HASHES = "evidence.json", "SHA256SUMS"


@dataclass(frozen=True)
class OlderEvidence:
    """The facts of a folder: what was found, and what it rested on."""

    facts: dict[str, Any]
    sha256: str  # of evidence.json


def read_older(directory: Path) -> OlderEvidence:
    """Raises InputError where it is not a folder of evidence, or not as it was written."""
    try:
        data = (directory / FACTS).read_bytes()
        listed = (directory / HASHES).read_text(encoding="utf-8").splitlines()
        facts = json.loads(data)
    except (OSError, ValueError, RecursionError) as error:
        raise _refused("it is not a folder of evidence", directory) from error
    if not isinstance(facts, dict) or MARK not in str(facts.get("solder")):
        raise _refused("it is not a folder of evidence", directory)
    digest = hashlib.sha256(data).hexdigest()
    if f"{digest}  {FACTS}" not in listed:
        raise _refused(f"{FACTS} is not the file that {HASHES} lists: it was changed", directory)
    if facts.get("schema") != SCHEMA:
        raise _refused(
            f"its {FACTS} has schema {facts.get('schema')}, and {SCHEMA} can be compared", directory
        )
    return OlderEvidence(facts, digest)


def _refused(what: str, directory: Path) -> InputError:
    return InputError(what, str(directory), "make a folder: deploy evidence OLDER.tar -o OLDER_FOLDER")
