"""The pipeline of a core that begins several instructions at a time: [pipeline] of its file, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from boards.core_timing import ERROR, KINDS, KnownError, named_cycles
from boards.schema import Key, Keys, ListOfTables, OneTable, Read, at_least, boolean, one_of, texts, words

# What may begin in an instruction's cycle: nothing else; others behind it; others; any other that may pair.
ALONE, FIRST, ANY, LIGHT = PAIRING = ("alone", "first", "any", "light")


@dataclass(frozen=True, slots=True)
class PipelineRow:
    """The way of the instructions whose names begin with one of `names` through the pipeline."""

    names: tuple[str, ...]  # beginnings; "" is any name
    bytes: int  # of the instruction; 0: however long
    units: tuple[str, ...]  # that it takes, each one of those between bars
    holds: int  # cycles that it takes them
    latency: int  # cycles until another can begin with its result
    pairs: str  # of PAIRING
    slots: int  # of a cycle; 0: it costs nothing
    early: int  # cycles before all others that it reads registers of no address
    late: int  # cycles after them that it reads what it stores, or the sum that it adds to


@dataclass(frozen=True, slots=True)
class CorePipeline:
    """A pipeline in order, with memory that never waits."""

    slots: int  # instructions that begin in a cycle
    needs_light: bool  # two begin together only if one is light
    units: Mapping[str, int]  # how many there are of each
    words_a_cycle: int  # that a load or store of several moves
    early_address: int  # cycles before all other operands that addresses are read
    moved_latency: int  # cycles until the register that an access moved on can be used
    refill: Mapping[str, int]  # cycles from an instruction of that kind that goes elsewhere to its target
    misaligned_target: int  # more, where a jump goes to a 32-bit instruction across two words
    foresees_last_loop: bool  # the conditional jump back that was taken last is fetched as if it were again
    sources: tuple[str, ...]
    rows: tuple[PipelineRow, ...]  # the first that fits counts
    known_error: KnownError | None  # None: nobody has held it against silicon

    @property
    def pairs_any(self) -> bool:
        return self.slots > 1 and not self.needs_light


def core_pipeline(values: Mapping[str, Any]) -> CorePipeline:
    """Makes a CorePipeline of the table that SECTION read."""
    rows, error = values["rows"], values["known_error"]
    made = {
        "rows": tuple(PipelineRow(**row) for row in rows),
        "units": named_cycles(values["units"]),
        "refill": named_cycles(values["refill"]),
        "known_error": error and KnownError(**error),
    }
    return CorePipeline(**{**values, **made})


UNITS = ("load", "store", "alu", "shift", "multiply", "branch", "float", "integer", "control", "pack")
_COUNT: Read = at_least(0)
_ROW: Keys = {
    "names": Key(texts, ("",)),
    "bytes": Key(_COUNT, 0),
    "units": Key(words, ()),
    "holds": Key(at_least(1), 1),
    "latency": Key(_COUNT, 1),
    "pairs": Key(one_of(PAIRING), ANY),
    "slots": Key(_COUNT, 1),
    "early": Key(_COUNT, 0),
    "late": Key(_COUNT, 0),
}
SECTION = OneTable(
    {
        "sources": Key(texts),
        "slots": Key(at_least(1)),
        "needs_light": Key(boolean, False),
        "units": Key(OneTable({unit: Key(at_least(1), None) for unit in UNITS})),
        "words_a_cycle": Key(at_least(1), 1),
        "early_address": Key(_COUNT, 0),
        "moved_latency": Key(_COUNT, 0),
        "refill": Key(OneTable({kind: Key(_COUNT, None) for kind in KINDS}), {}),
        "misaligned_target": Key(_COUNT, 0),
        "foresees_last_loop": Key(boolean, False),
        "rows": Key(ListOfTables(_ROW)),
        "known_error": Key(ERROR, None),
    }
)
