"""Sanitizer reports that are not faults: casts to unsigned numbers wrap intentionally."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Intended:
    report: str  # a regular expression for clang's text
    line: str  # a regular expression for the C line, in which the wrap is explicit
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
    """Returns why the report is not a fault, or "" if it is one."""
    return next(
        (each.reason for each in INTENDED if re.search(each.report, report) and re.search(each.line, line)),
        "",
    )
