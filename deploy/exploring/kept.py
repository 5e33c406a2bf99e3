"""Saves results line by line, so that an interrupted exploration can be continued."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from aot.errors import InputError, OutputError
from artifact.whole_file import write_whole


def read_kept(path: Path) -> dict[str, dict[str, Any]]:
    """Returns results by key; {} if the file does not exist. Removes an incomplete last line.

    Raises InputError for files of another kind.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the results cannot be read: {error}", str(path)) from None
    found = {}
    for number, line in enumerate(lines, 1):
        try:
            result = json.loads(line)
            found[result["key"]] = result
        except (ValueError, TypeError, KeyError, RecursionError):
            if number < len(lines) or number == 1:
                raise InputError(
                    f"line {number} is not a result of deploy explore", str(path), "name another file"
                ) from None
            write_whole(path, "".join(f"{json.dumps(result)}\n" for result in found.values()).encode())
    return found


def keep(path: Path, result: dict[str, Any]) -> None:
    """Appends a result. Raises OutputError."""
    try:
        with path.open("a+", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
    except OSError as error:
        raise OutputError(f"the result cannot be saved: {error.strerror}", str(path)) from None
