"""The evidence as facts: what was asked, what was found, and what the first page must not hide."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from codegen.options import words_of
from codegen.version import VERSION
from deploy.cli.command_result import Paged
from deploy.proving.chapter import Chapter, Finding, Standing
from deploy.proving.rebuilding.strangers import BUILD_FOLDER
from deploy.proving.subject import Subject
from deploy.proving.tracing.against import Changes, changes_since
from deploy.proving.tracing.hashes import grounds_of
from deploy.proving.tracing.older import MARK, SCHEMA, OlderEvidence

_ORDER = list(Standing)
_BUILT = (
    f"the project's folder {BUILD_FOLDER} holds files that were built, of which no chapter knows anything: "
    "remove it and build again"
)


@dataclass(frozen=True, repr=False)
class Evidence(Paged):
    """A finding for each chapter that there is: str() is a line each, save() writes the folder."""

    subject: Subject
    chapters: tuple[tuple[Chapter, Finding], ...]
    older: OlderEvidence | None = None  # to be compared with

    @property
    def changes(self) -> Changes | None:
        """The changes since the older folder; None where none was given."""
        return None if self.older is None else changes_since(self.older, self._facts)

    @property
    def verdict(self) -> Standing:
        """The worst of the chapters'; a subject that Solder did not make like that fails as a whole."""
        found = [finding.verdict for _, finding in self.chapters]
        if self.warnings:
            found.append(Standing.FAILED if self.subject.strangers else Standing.EXCEPTIONS)
        return max(found, key=_ORDER.index)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences for the top of the first page: what limits all chapters."""
        project, strangers = self.subject.project, tuple(each.says for each in self.subject.strangers)
        return strangers if project is None or not project.is_built else (*strangers, _BUILT)

    def as_json(self) -> dict[str, Any]:
        changes = self.changes
        return {**self._facts, "against": None if changes is None else changes.as_json()}

    @cached_property
    def _facts(self) -> dict[str, Any]:
        facts = self.subject.artifact.facts
        board = self.subject.board
        return {
            "schema": SCHEMA,
            "solder": f"{VERSION}, {MARK}",
            "model": facts.name,
            "source_name": facts.source_name,
            "model_hash": facts.model_hash,
            "compiled_by": facts.tool_version,
            "options": list(words_of(facts.options)),
            "board": None if board is None else board.name,
            "core": facts.target.core,
            "verdict": self.verdict.value,
            "warnings": list(self.warnings),
            "rests_on": grounds_of(self.subject).as_json(),
            "chapters": [_chapter_facts(chapter, finding) for chapter, finding in self.chapters],
        }

    def __str__(self) -> str:
        width = max(len(chapter.name) for chapter, _ in self.chapters)
        lines = [f"{self.subject.name}: {self.verdict.value}"]
        lines += [f"  warning: {warning}" for warning in self.warnings]
        lines += [f"  {c.name:{width}}  {f.verdict.value}: {f.summary}" for c, f in self.chapters]
        if changes := self.changes:
            lines.append(changes.summary)
            lines += [f"  {each.chapter:{width}}  {each}" for each in changes.chapters]
            lines += [f"  {each}" for each in changes.layers]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<evidence about {self.subject.name}: {self.verdict.value}>"

    @property
    def files(self) -> dict[str, bytes]:
        """The folder's files by their path in it."""
        from deploy.proving.folder import files_of  # the templates' engine takes its time

        return files_of(self.as_json(), self.chapters)

    def save(self, path: str | Path) -> None:
        """Writes the folder. Raises OutputError where something of the user's would be lost."""
        from deploy.proving.folder import write_folder

        write_folder(Path(path), self.files)


def _chapter_facts(chapter: Chapter, finding: Finding) -> dict[str, Any]:
    return {
        "name": chapter.name,
        "title": chapter.title,
        "question": chapter.question,
        "rests_on": [ground.value for ground in chapter.rests_on],
        "verdict": finding.verdict.value,
        "summary": finding.summary,
        "exceptions": list(finding.exceptions),
        "method": list(finding.method),
        "tools": list(finding.tools),
        "tables": [table.as_json() for table in finding.tables],
        "files": [f"{chapter.name}/{name}" for name in sorted(finding.files)],
    }
