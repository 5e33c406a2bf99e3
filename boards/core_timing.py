"""Cycle counts of a core's instructions: the table [timing] of boards/core/<core>.toml, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from boards.schema import Key, OneTable, at_least, text, texts

# Kinds of instructions that can cost more than one cycle.
KINDS = (
    "load",
    "load_pair",
    "load_many",
    "load_vector",
    "store",
    "store_indexed",  # its address is the sum of two registers
    "store_pair",
    "store_many",
    "store_vector",
    "multiply",
    "multiply_add",
    "multiply_long",
    "multiply_add_long",
    "divide",
    "branch",
    "compare_branch",
    "call",
    "branch_register",
    "call_register",
    "table_branch",
    "move_pc",
    "float",
    "float_multiply_add",
    "float_divide",
)


@dataclass(frozen=True, slots=True)
class KnownError:
    """Error of the modeled cycles compared with silicon."""

    mean_percent: int  # mean absolute error
    worst_percent: int
    points: int
    on: str  # the chip and the programs

    def __str__(self) -> str:
        percent = f"{self.mean_percent} % on average, {self.worst_percent} % at most"
        return f"{percent} ({self.points} {'point' if self.points == 1 else 'points'}: {self.on})"


@dataclass(frozen=True, slots=True)
class CoreTiming:
    """Cycle counts, assuming memory without wait states. A kind missing in `cycles` costs one cycle."""

    cycles: Mapping[str, int]  # per instruction of a kind, unless it branches
    each: Mapping[str, int]  # per register of a load or store of several
    refill: Mapping[str, int]  # extra cycles if an instruction of that kind branches
    after_load: int  # saved by a load or store directly after a load that does not compute its address
    late_address: int  # extra, if the previous instruction computed the address
    late_float: int  # extra, if the previous instruction computed an operand of a float sum or product
    misaligned_target: int  # extra, if a branch target is a 32-bit instruction across two words
    misaligned_half: int  # extra, for a half-word at an odd address
    misaligned_word: int  # extra, for a word at an even address that is not a multiple of four
    odd_word: int  # extra, for a word at an odd address
    sources: tuple[str, ...]
    known_error: KnownError | None  # None: not compared with silicon


def core_timing(values: Mapping[str, Any]) -> CoreTiming:
    """Converts a table read with SECTION."""
    named = {name: named_cycles(values[name]) for name in ("cycles", "each", "refill")}
    error = values["known_error"]
    return CoreTiming(**{**values, **named, "known_error": error and KnownError(**error)})


def named_cycles(table: Mapping[str, int | None]) -> Mapping[str, int]:
    return {kind: cycles for kind, cycles in table.items() if cycles is not None}


_KINDS = {kind: Key(at_least(0), None) for kind in KINDS}
ERROR = OneTable(
    {
        "mean_percent": Key(at_least(0)),
        "worst_percent": Key(at_least(0)),
        "points": Key(at_least(1)),
        "on": Key(text),
    }
)
SECTION = OneTable(
    {
        "sources": Key(texts),
        "cycles": Key(OneTable(_KINDS)),
        "each": Key(OneTable(_KINDS), {}),
        "refill": Key(OneTable(_KINDS), {}),
        "after_load": Key(at_least(0), 0),
        "late_address": Key(at_least(0), 0),
        "late_float": Key(at_least(0), 0),
        "misaligned_target": Key(at_least(0), 0),
        "misaligned_half": Key(at_least(0), 0),
        "misaligned_word": Key(at_least(0), 0),
        "odd_word": Key(at_least(0), 0),
        "known_error": Key(ERROR, None),
    }
)
