"""Looks into a model or an archive: what it holds, and whether it fits a board."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aot.target import Feature, Target
from boards.board import Board
from codegen.archive_file import is_archive
from codegen.facts import facts_of
from codegen.memory_svg import draw_memory_svg
from codegen.memory_text import draw_memory
from codegen.model import CompileOptions
from codegen.report import Report, make_report
from codegen.whole_file import write_whole
from deploy.files import require_place
from deploy.fit import require_core
from deploy.inspect_facts import arena_facts, report_facts
from deploy.inspect_page import layers_table, summary
from deploy.squeezing import compile_into

# What a model is laid out for when nobody names a board: the commonest core with SIMD instructions.
NO_BOARD = Target("cortex-m4", frozenset({Feature.DSP, Feature.FPU, Feature.UNALIGNED}))


@dataclass(frozen=True)
class Inspection:
    """A report and the board it is about; str() is the page that people read."""

    report: Report
    board: Board | None

    def __str__(self) -> str:
        return self.page()

    @property
    def fits(self) -> bool | None:
        """None where no board was named."""
        return self.report.fits if self.board else None

    def page(self, layers: bool = False, memory: bool = False) -> str:
        """The page; with a table of layers, with a map of the arena."""
        parts = [summary(self.report, self.board.name if self.board else None)]
        if layers:
            parts.append(layers_table(self.report))
        if memory:
            parts.append(draw_memory(self.report.facts.memory).rstrip("\n"))
        return "\n\n".join(parts)

    def as_json(self, memory: bool = False) -> dict[str, Any]:
        """The same facts for machines; with the map of the arena."""
        facts = report_facts(self.report, self.board.name if self.board else None)
        return {**facts, "arena": arena_facts(self.report.facts.memory)} if memory else facts

    def draw(self, path: Path) -> None:
        """The map of the arena over time as an SVG file."""
        require_place(path, _is_svg, "an SVG picture")
        write_whole(path, draw_memory_svg(self.report.facts).encode())


def _is_svg(path: Path) -> bool:
    with path.open("rb") as file:
        return b"<svg" in file.read(1024)


def inspect_file(path: Path, board: Board | None, options: CompileOptions) -> Inspection:
    """A model file is compiled for the board, an archive is read; neither needs a C compiler."""
    target = board.target if board else None
    if is_archive(path):
        from codegen.archive import read_archive

        facts = read_archive(path).facts
        if board:
            require_core(facts, board)
    else:
        facts = facts_of(compile_into(path, target or NO_BOARD, options))
    return Inspection(make_report(facts, target), board)
