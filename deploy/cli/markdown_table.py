"""A table in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

RIGHT, LEFT = "---:", "---"


def markdown_table(heads: Sequence[str], sides: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table; each column is at its side."""
    return [_line(heads), _line(sides), *map(_line, rows)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
