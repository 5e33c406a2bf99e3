"""The cycles of a core's instructions, as plain data: the table [timing] of boards/core/<core>.toml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from boards.schema import Key, OneTable, at_least, text, texts

# The kinds that instructions are told apart in, where they take more than one cycle or can.
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
    """The error of the model's cycles where they were compared with silicon."""

    mean_percent: int  # of the absolute errors
    worst_percent: int
    points: int
    on: str  # which chip and programs

    def __str__(self) -> str:
        percent = f"{self.mean_percent} % on average, {self.worst_percent} % at most"
        return f"{percent} ({self.points} {'point' if self.points == 1 else 'points'}: {self.on})"


@dataclass(frozen=True, slots=True)
class CoreTiming:
    """Cycles with memory that never waits. A kind that `cycles` does not name takes one cycle."""

    cycles: Mapping[str, int]  # of one instruction of a kind that does not go elsewhere
    each: Mapping[str, int]  # for each register of a load or store of several
    refill: Mapping[str, int]  # more, where an instruction of that kind goes elsewhere
    after_load: int  # saved by a load or store right after a load that does not make its address
    late_address: int  # more, where the instruction before made the address
    late_float: int  # more, where the instruction before made a number that is added or multiplied
    misaligned_target: int  # more, where a jump goes to a 32-bit instruction across two words
    misaligned_half: int  # more, for a half-word at an odd address
    misaligned_word: int  # more, for a word at an address that is even and no multiple of four
    odd_word: int  # more, for a word at an odd address
    sources: tuple[str, ...]
    known_error: KnownError | None  # None: nobody has held it against silicon


def core_timing(values: Mapping[str, Any]) -> CoreTiming:
    """Makes a CoreTiming of the table that SECTION read."""
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
