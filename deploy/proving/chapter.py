"""A chapter of the evidence: a question about compiled code, and what was found when it was asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from deploy.proving.subject import Subject
from deploy.proving.tracing.ground import Ground

Cell = str | int
_NO_FILES: Mapping[str, bytes] = {}


class Standing(Enum):
    """The answers to a chapter's question, the best first; the value is the word on the pages."""

    PROVEN = "proven"
    EXCEPTIONS = "holds with stated exceptions"
    NOT_RUN = "not run"
    FAILED = "failed"


@dataclass(frozen=True)
class Table:
    """Rows of a chapter's page; numbers are given as numbers, so that tools can read and sort them."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Cell]]

    def __post_init__(self) -> None:
        short = next((row for row in self.rows if len(row) != len(self.columns)), None)
        if short is not None:
            raise ValueError(f"{self.title}: a row has {len(short)} cells for {len(self.columns)} columns")

    def as_json(self) -> dict[str, Any]:
        return {"title": self.title, "columns": list(self.columns), "rows": [list(row) for row in self.rows]}


@dataclass(frozen=True)
class Finding:
    """The answer to a chapter's question. It holds nothing that differs from one run to the next."""

    verdict: Standing
    summary: str  # one sentence: what was found; why, where the chapter was not run or failed
    exceptions: tuple[str, ...] = ()  # a sentence each
    method: tuple[str, ...] = ()  # a paragraph each: how it was found, and what it rests on
    tables: tuple[Table, ...] = ()
    tools: tuple[str, ...] = ()  # foreign tools that were used, with their versions
    files: Mapping[str, bytes] = field(default_factory=lambda: _NO_FILES, repr=False)  # by name in its folder

    def __post_init__(self) -> None:
        if (self.verdict is Standing.EXCEPTIONS) != bool(self.exceptions):
            raise ValueError(f"{self.verdict.value}, with {len(self.exceptions)} exceptions stated")


@dataclass(frozen=True)
class Chapter:
    """An entry in the table of chapters.

    `examine` raises MissingToolError where it needs what is not on this machine: the chapter is then not run,
    and the error says why. A Finding of NOT_RUN says so of a subject that it cannot be asked of.
    """

    name: str  # of its page and of its folder of files, and after --chapter
    title: str
    question: str
    examine: Callable[[Subject], Finding]
    rests_on: tuple[Ground, ...] = tuple(Ground)  # and on the tools of its findings


def not_run(why: str) -> Finding:
    return Finding(Standing.NOT_RUN, why)
