"""A chapter of the evidence: a question about compiled code, and its answer."""

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
    """Verdicts of a chapter, the best first. The value is shown on the pages."""

    PROVEN = "proven"
    EXCEPTIONS = "holds with stated exceptions"
    NOT_RUN = "not run"
    FAILED = "failed"


@dataclass(frozen=True)
class Table:
    """A table on a chapter's page. Numbers stay numbers, so that tools can sort them."""

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
    """The answer to a chapter's question.

    It is reproducible: it contains nothing that varies between runs.
    """

    verdict: Standing
    summary: str  # a sentence about the result, or the reason if not run or failed
    exceptions: tuple[str, ...] = ()  # one sentence each
    method: tuple[str, ...] = ()  # one paragraph each: the method and its assumptions
    tables: tuple[Table, ...] = ()
    tools: tuple[str, ...] = ()  # third-party tools used, with versions
    files: Mapping[str, bytes] = field(default_factory=lambda: _NO_FILES, repr=False)  # by name in its folder

    def __post_init__(self) -> None:
        if (self.verdict is Standing.EXCEPTIONS) != bool(self.exceptions):
            raise ValueError(f"{self.verdict.value}, with {len(self.exceptions)} exceptions stated")


@dataclass(frozen=True)
class Chapter:
    """An entry in the table of chapters.

    `examine` raises MissingToolError if a tool is not installed: the chapter is then not run, with the error
    as the reason. It returns a Finding of NOT_RUN if the question does not apply to the subject.
    """

    name: str  # of its page and its folder, and the value of --chapter
    title: str
    question: str
    examine: Callable[[Subject], Finding]
    rests_on: tuple[Ground, ...] = tuple(Ground)  # in addition to the tools of its findings


def not_run(why: str) -> Finding:
    return Finding(Standing.NOT_RUN, why)
