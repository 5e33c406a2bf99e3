"""The facts of a report, from which the web page and the Markdown page are created."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from artifact.memory_svg import draw_memory_svg
from artifact.whole_file import write_whole
from codegen.version import VERSION
from deploy.cli.command_result import Paged, framed
from deploy.inputs.result_paths import require_place_of_kind
from deploy.reporting.badge import badge_of
from deploy.reporting.given_data import OnData
from deploy.reporting.section import BoardSection

MARK = "made by deploy report"  # in the head of each format; identifies a report
_KINDS = (".html", ".md", ".json", ".svg")


@dataclass(frozen=True, repr=False)
class ModelReport(Paged):
    """Facts about a model on boards. str() is Markdown; save() writes a page, JSON or a badge."""

    sections: tuple[BoardSection, ...]
    on_data: OnData | None = None

    def as_json(self) -> dict[str, Any]:
        facts = self.sections[0].attempt.report.facts
        return {
            "solder": f"{VERSION}, {MARK}",
            "model": facts.name,
            "source_name": facts.source_name,
            "model_hash": facts.model_hash,
            "data": self.on_data and self.on_data.as_json(),
            "boards": [section.as_json() for section in self.sections],
        }

    def __str__(self) -> str:
        from deploy.reporting.markdown import markdown_of

        return markdown_of(self.as_json())

    def __repr__(self) -> str:
        boards = ", ".join(section.attempt.board.name for section in self.sections)
        return f"<report on {self.sections[0].attempt.report.facts.source_name} for {boards}>"

    def _repr_html_(self) -> str:
        return framed(self._text(".html"))

    def summary(self) -> str:
        """Returns the verdict on each board."""
        return "\n".join(f"{each.attempt.board.name}: {'; '.join(each.verdict())}" for each in self.sections)

    def save(self, path: str | Path) -> None:
        """Writes .html, .md, .json or .svg (a badge), by the file's suffix. Raises OutputError for others."""
        place = require_report_place(Path(path))
        write_whole(place, self._text(place.suffix).encode())

    def _text(self, suffix: str) -> str:
        if suffix == ".json":
            return json.dumps(self.as_json(), indent=1) + "\n"
        if suffix == ".md":
            return str(self)
        if suffix == ".svg":
            return badge_of(self.as_json(), MARK)
        from deploy.reporting.page import page_of  # jinja2 is slow to import

        return page_of(self.as_json(), [draw_memory_svg(each.attempt.report.facts) for each in self.sections])


def require_report_place(path: Path) -> Path:
    """Raises OutputError before compiling if the output would overwrite the user's files."""
    return require_place_of_kind(path, _KINDS, [MARK], "a report")
