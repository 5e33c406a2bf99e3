"""Replaces characters that the output encoding lacks, by a spelling of the same width or an escape."""

from __future__ import annotations

import codecs
import sys

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
