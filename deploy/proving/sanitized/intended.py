"""Reports of clang's checks that are not faults: what is cast to an unsigned number shall wrap."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Intended:
    report: str  # a regular expression, in clang's words
    line: str  # of the C, likewise: the wrap is written there as such
    reason: str


INTENDED = (
    Intended(
        r"^left shift of \d+ by \d+ places cannot be represented in type 'uint",
        r"\(uint\d+_t\)|<<=",
        "Shifted as an unsigned number, whose high bits are lost by the definition of C: those of a "
        "negative number are copies of its sign.",
    ),
    Intended(
        r"^unsigned integer overflow: ",
        r"\(uint\d+_t\)",
        "Written in unsigned numbers, which wrap by the definition of C: the reference wraps here, too.",
    ),
)


def reason_of(report: str, line: str) -> str:
    """Answers with an empty string where the report is a fault."""
    return next(
        (each.reason for each in INTENDED if re.search(each.report, report) and re.search(each.line, line)),
        "",
    )
