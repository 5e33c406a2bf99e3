"""Requirements of the device runtime, as docs/requirements.md has them: sentences, files of C, tests."""

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
    """A sentence that the runtime keeps."""

    number: int  # from 1
    says: str
    code: tuple[str, ...]  # files of the runtime
    tests: tuple[str, ...]  # that hold it, in the source tree

    @property
    def name(self) -> str:
        return f"R{self.number}"


def requirements() -> tuple[Requirement, ...]:
    """Reads all, in the order of the page."""
    stored = json.loads((files("deploy.proving.tracing") / _FILE).read_text(encoding="utf-8"))
    return tuple(
        Requirement(number, each["says"], tuple(each["code"]), tuple(each["tests"]))
        for number, each in enumerate(stored, start=1)
    )


def requirements_table(artifact: Artifact) -> Table:
    """Lists those that the runtime beside the model has files of, with these files."""
    rows = [
        (each.name, each.says, ", ".join(there), ", ".join(each.tests))
        for each in requirements()
        if (there := _there(each.code, artifact))
    ]
    return Table("Requirements of the runtime", _COLUMNS, rows)


def files_without(artifact: Artifact) -> list[str]:
    """Names the files of C that no requirement asks for."""
    asked = {name for each in requirements() for name in each.code}
    return [name for name in _sources(artifact) if name not in asked]


def _there(code: Sequence[str], artifact: Artifact) -> list[str]:
    return [name for name in _sources(artifact) if name in code]


def _sources(artifact: Artifact) -> list[str]:
    return sorted(name for name in artifact.runtime if name.endswith(".c"))
