"""Reasons for branches without coverage, by the text of their line."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GapReason:
    line: str  # a regular expression
    reason: str


GAPS = (
    GapReason(r"^ *(switch|default:)|^ *case \d+:", "The table of the order names no layer but the cases'."),
    GapReason(
        r"\? low : v > high|clamp|> 127 \?|> 255 \?|most > x|INT32_MAX",
        "A saturation: which ends of the range these weights reach depends on the sample.",
    ),
    GapReason(r"difference <|bits \+ |x == 0|rest &|\(v < 0\)|rest > half",
              "A part of the range of exp, which the scores of these samples do not reach."),
    GapReason(r"right < 0|step < 255|sum >= 0", "A helper serves any layer: here all numbers are alike."),
    GapReason(r"solder_on_layer", "The profiler's hook, which is built into served firmware alone."),
    GapReason(r"== NULL|_ARENA_ALIGN", "The compiler joined conditions that are tested one by one."),
)  # fmt: skip


def reason_of(line: str) -> str:
    """Returns "" if no reason is known."""
    return next((gap.reason for gap in GAPS if re.search(gap.line, line)), "")
