"""Formats Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

RIGHT, LEFT = "---:", "---"


def markdown_table(heads: Sequence[str], sides: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Returns the lines of a table; `sides` are the alignment markers of its columns."""
    return [_line(heads), _line(sides), *map(_line, rows)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
