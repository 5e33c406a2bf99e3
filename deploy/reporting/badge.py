"""The report as a badge: an SVG with a row for each board, for a README or a wiki."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from deploy.inspection.inspect_page import FITS

_GROUND, _FITS, _LACKS = "#4a4f57", "#2a7332", "#b3261e"  # white letters are readable on each
_HEIGHT, _MARGIN, _LETTER = 20, 7, 6.6  # pixels; the width of a letter
_FONT = "Verdana, DejaVu Sans, Geneva, sans-serif"


def badge_of(facts: dict[str, Any], mark: str) -> str:
    """Returns the SVG for the facts of a report's JSON. `mark` identifies the file."""
    rows = [(f"{facts['model']} on {board['board']}", *_verdict(board)) for board in facts["boards"]]
    left, right = (max(_width(row[column]) for row in rows) for column in (0, 1))
    title = escape("; ".join(f"{name}: {says}" for name, says, _ in rows))
    height = _HEIGHT * len(rows)
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{height}"'
            f' role="img" aria-label="{title}">',
            f"<!-- {mark} -->",
            f"<title>{title}</title>",
            f'<g fill="#ffffff" font-family="{_FONT}" font-size="11">',
            *(line for number, row in enumerate(rows) for line in _row(number, left, right, *row)),
            "</g>",
            "</svg>\n",
        )
    )


def _verdict(board: dict[str, Any]) -> tuple[str, str]:
    """Returns the text about a board, and its color."""
    needs = ", ".join(_need(board, key, name) for key, name in (("ram", "RAM"), ("flash", "flash")))
    if not board["fits"]:
        return f"does not fit: {needs}", _LACKS
    return f"{FITS[board['counts_firmware']]}: {needs}", _FITS


def _need(board: dict[str, Any], key: str, name: str) -> str:
    there = board[f"{key}_there"]
    limit = f" of {_kilobytes(there)}" if there else ""
    return f"{_kilobytes(board[f'{key}_bytes'])}{limit} KB {name}"


def _kilobytes(count: int) -> str:
    return f"{count / 1024:,.1f}".removesuffix(".0")


def _row(number: int, left: int, right: int, name: str, says: str, color: str) -> Iterator[str]:
    y = number * _HEIGHT
    yield f'<rect y="{y}" width="{left}" height="{_HEIGHT}" fill="{_GROUND}"/>'
    yield f'<rect x="{left}" y="{y}" width="{right}" height="{_HEIGHT}" fill="{color}"/>'
    for x, text in ((0, name), (left, says)):
        length = _width(text) - 2 * _MARGIN  # whatever the font, it fits
        yield f'<text x="{x + _MARGIN}" y="{y + 14}" textLength="{length}">{escape(text)}</text>'


def _width(text: str) -> int:
    return round(len(text) * _LETTER) + 2 * _MARGIN
