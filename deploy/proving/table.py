"""The chapters in the order of the first page."""

from __future__ import annotations

from collections.abc import Sequence

from deploy.proving.chapter import Chapter
from deploy.proving.coding_standard import examine_coding_standard
from deploy.proving.coverage import examine_coverage
from deploy.proving.extremes import examine_extremes
from deploy.proving.interval_walk import examine_intervals
from deploy.proving.rebuild import examine_rebuild
from deploy.proving.stack_and_memory import examine_stack_and_memory
from deploy.proving.sums import examine_sums
from deploy.proving.time import examine_time
from deploy.proving.tool_confidence import examine_tool_confidence
from deploy.proving.traceability import examine_traceability
from deploy.proving.tracing.ground import FIRMWARE, MODEL, PROGRAM, Ground
from deploy.proving.undefined_behaviour import examine_undefined_behaviour

CHAPTERS: Sequence[Chapter] = (
    Chapter(
        "sums",
        "No sum of products overflows",
        "Can a 32-bit sum of a layer leave its range, whatever the input is?",
        examine_sums,
        (*MODEL, Ground.CODE),
    ),
    Chapter(
        "intervals",
        "Sums by a walk over the loops",
        "Does an independent calculation, step by step over the loops of each layer, find the same ranges?",
        examine_intervals,
        (*MODEL, *PROGRAM),
    ),
    Chapter(
        "extremes",
        "Runs at the extremes",
        "Does a run overflow or lose a value on inputs at the ends of their range, or against the weights?",
        examine_extremes,
        (*MODEL, *PROGRAM),
    ),
    Chapter(
        "traceability",
        "Where each function comes from",
        "Does every function and constant of the C belong to a layer, and every operator to functions?",
        examine_traceability,
        (*MODEL, *PROGRAM, Ground.MODEL_FILE, Ground.RUNTIME, Ground.PROJECT),
    ),
    Chapter(
        "undefined-behaviour",
        "No undefined behavior",
        "Does the generated C do anything that C does not define, whatever the input is?",
        examine_undefined_behaviour,
        (*PROGRAM, Ground.TARGET),
    ),
    Chapter(
        "coding-standard",
        "MISRA C:2012 and CERT C",
        "Which rules of the coding standards do generated C and runtime follow, and which not, and why?",
        examine_coding_standard,
        (Ground.TEXT, Ground.RUNTIME),
    ),
    Chapter(
        "coverage",
        "Branches that tests take",
        "Does each branch of generated C and runtime run in a test whose outputs are right; if not, why?",
        examine_coverage,
        (*MODEL, *PROGRAM, Ground.RUNTIME),
    ),
    Chapter(
        "stack-and-memory",
        "Stack and memory have bounds",
        "How much stack can a run take, where does each byte of the model lie, and is there nothing else?",
        examine_stack_and_memory,
        (Ground.CODE, *FIRMWARE),
    ),
    Chapter(
        "time",
        "Time has a bound",
        "How many cycles does each layer take at least and at most, and whose time depends on data?",
        examine_time,
        (*PROGRAM, *FIRMWARE),
    ),
    Chapter(
        "rebuild",
        "Made again, byte for byte",
        "Are archive and firmware the same bytes when they are made again, elsewhere and later?",
        examine_rebuild,
    ),
    Chapter(
        "tool-confidence",
        "What made it, and what that is held against",
        "Which tools made the code, what are they held against, and what is in the firmware?",
        examine_tool_confidence,
    ),
)
