"""Requirements of the device runtime from docs/requirements.md: sentences, C files, tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from artifact.artifact import Artifact
from deploy.proving.chapter import Table

_FILE = "requirements.json"
_COLUMNS = ("requirement", "says", "code in this archive", "tests in the source tree")


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement that the runtime meets."""

    number: int  # from 1
    text: str
    code: tuple[str, ...]  # files of the runtime
    tests: tuple[str, ...]  # in the source tree

    @property
    def name(self) -> str:
        return f"R{self.number}"


def requirements() -> tuple[Requirement, ...]:
    """Reads all requirements in the order of the page."""
    stored = json.loads((files("deploy.proving.tracing") / _FILE).read_text(encoding="utf-8"))
    return tuple(
        Requirement(number, each["text"], tuple(each["code"]), tuple(each["tests"]))
        for number, each in enumerate(stored, start=1)
    )


def requirements_table(artifact: Artifact) -> Table:
    """Lists the requirements whose files are part of the model's runtime."""
    rows = [
        (each.name, each.text, ", ".join(there), ", ".join(each.tests))
        for each in requirements()
        if (there := _there(each.code, artifact))
    ]
    return Table("Requirements of the runtime", _COLUMNS, rows)


def files_without(artifact: Artifact) -> list[str]:
    """Returns the C files without a requirement."""
    asked = {name for each in requirements() for name in each.code}
    return [name for name in _sources(artifact) if name not in asked]


def _there(code: Sequence[str], artifact: Artifact) -> list[str]:
    return [name for name in _sources(artifact) if name in code]


def _sources(artifact: Artifact) -> list[str]:
    return sorted(name for name in artifact.runtime if name.endswith(".c"))
