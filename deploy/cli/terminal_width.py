"""Fits text into a terminal: wraps long lines at words, and splits rows of wide tables into two lines.

Nothing is omitted. Files and pipes get the full width, because programs parse lines.
"""

from __future__ import annotations

import codecs
import shutil
import sys
from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import TextIO

_GAP = "  "  # between columns of a table
_INDENT = "    "  # of continuation lines of a row
_NARROWEST = 12  # minimum width of a wrapped column
_MARKDOWN = "|"  # starts a row of a Markdown table, which programs read


def terminal_columns(stream: TextIO | None = None) -> int | None:
    """Returns the terminal width of a stream (default stdout), or None for files and pipes."""
    return shutil.get_terminal_size().columns if (stream or sys.stdout).isatty() else None


def fitted(text: str, columns: int | None) -> str:
    """Wraps lines that are too long.

    Continuation lines are indented to the last cell that starts in the left half, else by a small step.
    """
    if columns is None:
        return text
    return "\n".join(part for line in text.split("\n") for part in _broken(line, columns))


def _broken(line: str, columns: int) -> list[str]:
    if len(line) <= columns or line.startswith(_MARKDOWN):
        return [line]
    lead = len(line) - len(line.lstrip())
    cells = [at for at in range(lead + 2, columns // 2) if line[at - 2 : at] == _GAP and line[at] != " "]
    kept, indent = (cells[-1], cells[-1]) if cells else (lead, lead + 2)
    return wrap(
        line[kept:],
        columns,
        initial_indent=line[:kept],
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def fitted_table(rows: Sequence[Sequence[str]], right: Sequence[bool], columns: int | None) -> str:
    """Formats a table; `right` selects right-aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if columns is None or _width(widths) <= columns:
        return _lines(rows, widths, right)
    narrow = _narrowed(rows, widths, right, columns)
    if _width(narrow) <= columns:
        return "\n".join(_lines(_wrapped(row, narrow), narrow, right) for row in rows)
    return _folded(rows, widths, right, columns)


def _lines(rows: Sequence[Sequence[str]], widths: Sequence[int], right: Sequence[bool]) -> str:
    lines = ([_aligned(*cell) for cell in zip(row, widths, right, strict=True)] for row in rows)
    return "\n".join(_GAP.join(line).rstrip() for line in lines)


def _aligned(cell: str, width: int, right: bool) -> str:
    return cell.rjust(width) if right else cell.ljust(width)


def _width(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _narrowed(
    rows: Sequence[Sequence[str]], widths: Sequence[int], right: Sequence[bool], columns: int
) -> list[int]:
    """Narrows the widest text columns, but not below their longest word."""
    words = ((len(word) for cell in column for word in cell.split()) for column in zip(*rows, strict=True))
    least = [max(_NARROWEST, *lengths, 0) for lengths in words]
    found = list(widths)
    while _width(found) > columns:
        open_ones = [i for i, width in enumerate(found) if not right[i] and width > least[i]]
        if not open_ones:
            break
        found[max(open_ones, key=lambda i: found[i])] -= 1
    return found


def _wrapped(row: Sequence[str], widths: Sequence[int]) -> list[tuple[str, ...]]:
    """Wraps the cells of a row into several lines."""
    cells = [
        wrap(cell, width, break_on_hyphens=False) if len(cell) > width else [cell]
        for cell, width in zip(row, widths, strict=True)
    ]
    return [
        tuple(cell[i] if i < len(cell) else "" for cell in cells)
        for i in range(max(map(len, cells), default=0))
    ]


def _folded(rows: Sequence[Sequence[str]], widths: Sequence[int], right: Sequence[bool], columns: int) -> str:
    """Moves columns that do not fit into further lines of the same row."""
    parts = list(_parts(widths, columns))
    folded = (
        f"{_INDENT if part.start else ''}{_lines([row[part]], widths[part], right[part])}".rstrip()
        for row in rows
        for part in parts
    )
    return "\n".join(line for row in folded for line in _broken(row, columns) if line)


def _parts(widths: Sequence[int], columns: int) -> Iterator[slice]:
    begin = 0
    while begin < len(widths):
        room = columns - (len(_INDENT) if begin else 0)
        end = begin + 1
        while end < len(widths) and _width(widths[begin : end + 1]) <= room:
            end += 1
        yield slice(begin, end)
        begin = end


# Replaces characters that the output encoding lacks, by a spelling of the same width or an escape.

HANDLER = "solder.spelled"
# One character each, to preserve column widths.
SPELLINGS = {
    **dict(zip("▁▂▃▄▅▆▇█", ".:-=+*%#", strict=True)),  # the bars of `inspect --memory`
    "▲": "^",
    "…": "~",
    "→": ">",
    "•": "*",
}


def spell_out_what_cannot_be_shown() -> None:
    """Makes printing succeed with any encoding of a terminal or file, such as ASCII or cp1252."""
    codecs.register_error(HANDLER, _spelled)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # not if stdout was replaced by another object
            stream.reconfigure(errors=HANDLER)


def _spelled(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    text = (SPELLINGS.get(letter) or letter.encode("ascii", "backslashreplace").decode() for letter in lost)
    return "".join(text), error.end
