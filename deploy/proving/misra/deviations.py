"""The rules of MISRA C:2012 that generated C does not follow, the same for every model, and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deviation:
    rule: str
    category: str  # of the rule: required or advisory; no mandatory rule is deviated from
    reason: str


_REQUIRED, _ADVISORY = "required", "advisory"
_SHIFT = "Sums are scaled by arithmetic shifts of signed numbers, which every compiler for these cores has."

DEVIATIONS = (
    Deviation("2.2", _REQUIRED, "The profiler's hook is an empty macro where none is linked."),
    Deviation("2.4", _ADVISORY, "Error codes are an enum without a name; callers use its constants."),
    Deviation("2.5", _ADVISORY, "Sizes and scales in the header are for callers, who may need none."),
    Deviation(
        "2.7", _ADVISORY, "Assembly uses the parameter, which the tool cannot see."
    ),
    Deviation("8.9", _ADVISORY, "The table of the order stands before its function, to be read apart."),
    Deviation(
        "8.14", _REQUIRED,
        "restrict lets loads move before stores. Rows of a step lie apart: the plan is replayed to know it.",
    ),
    Deviation("10.1", _REQUIRED, _SHIFT),
    Deviation("10.3", _REQUIRED, "Results are clamped to the range of their type before they are stored."),
    Deviation("10.4", _REQUIRED, "A constant of type int stands beside an int32_t: the same type there."),
    Deviation("10.8", _REQUIRED, "Half of an unsigned mask is taken as signed; it is below 2^31."),
    Deviation("11.5", _ADVISORY, "The arena is memory of any type; a run checks its alignment."),
    Deviation("12.1", _ADVISORY, "Addresses are sums of products, whose precedence nobody mistakes."),
    Deviation("12.3", _ADVISORY, "The commas separate variables of one type and are no operators."),
    Deviation("13.3", _ADVISORY, "A layer's next row is read and counted up in one statement."),
    Deviation("14.2", _REQUIRED, "The walk through the order goes back where steps repeat, by a count."),
    Deviation("14.4", _REQUIRED, "A bit is tested by a bitwise and."),
    Deviation("15.5", _ADVISORY, "Errors, and rows outside the image, return early."),
    Deviation("17.7", _REQUIRED, "memset and memcpy return what they were given."),
    Deviation("17.8", _ADVISORY, "Small functions change their own copies of parameters."),
    Deviation("18.4", _ADVISORY, "A row is an offset from the beginning of its ring."),
    Deviation("20.10", _ADVISORY, "Registers of inline assembly are named by macros."),
)  # fmt: skip
REASONS = {each.rule: each for each in DEVIATIONS}
