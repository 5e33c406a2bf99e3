"""The chapters in the order of the first page."""

from __future__ import annotations

from collections.abc import Sequence

from deploy.proving.chapter import Chapter
from deploy.proving.sums import examine_sums
from deploy.proving.traceability import examine_traceability

CHAPTERS: Sequence[Chapter] = (
    Chapter(
        "sums",
        "No sum of products overflows",
        "Can a 32-bit sum of a layer leave its range, whatever the input is?",
        examine_sums,
    ),
    Chapter(
        "traceability",
        "Where each function comes from",
        "Does every function and constant of the C belong to a layer, and every operator to functions?",
        examine_traceability,
    ),
)
