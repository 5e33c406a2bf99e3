"""The pipeline of a dual-issue core: the table [pipeline] of a core file, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from boards.core_timing import ERROR, KINDS, KnownError, named_cycles
from boards.schema import Key, Keys, ListOfTables, OneTable, Read, at_least, boolean, one_of, texts, words

# What may issue in an instruction's cycle: no other; only later ones; any; any, and it counts as light.
ALONE, FIRST, ANY, LIGHT = PAIRING = ("alone", "first", "any", "light")


@dataclass(frozen=True, slots=True)
class PipelineRow:
    """Pipeline behavior of the instructions whose mnemonics start with one of `names`."""

    names: tuple[str, ...]  # mnemonic prefixes; "" matches all
    bytes: int  # size of the instruction; 0: any
    units: tuple[str, ...]  # execution units it occupies; alternatives are separated by bars
    holds: int  # cycles for which it occupies them
    latency: int  # cycles until a dependent instruction can issue
    pairs: str  # one of PAIRING
    slots: int  # issue slots used; 0: free
    early: int  # cycles by which it reads non-address registers before other instructions do
    late: int  # cycles by which it reads a stored value or an accumulator after other instructions do


@dataclass(frozen=True, slots=True)
class CorePipeline:
    """An in-order pipeline, assuming memory without wait states."""

    slots: int  # instructions issued per cycle
    needs_light: bool  # dual issue needs at least one light instruction
    units: Mapping[str, int]  # number of units of each kind
    words_a_cycle: int  # transferred per cycle by a load or store of several registers
    early_address: int  # cycles by which addresses are read before all other operands
    moved_latency: int  # cycles until a written-back address register can be used
    refill: Mapping[str, int]  # cycles from a branch of that kind to its target
    misaligned_target: int  # extra cycles if a branch target is a 32-bit instruction across two words
    foresees_last_loop: bool  # predicts that the latest backward branch repeats
    sources: tuple[str, ...]
    rows: tuple[PipelineRow, ...]  # the first match applies
    known_error: KnownError | None  # None: not compared with silicon

    @property
    def pairs_any(self) -> bool:
        return self.slots > 1 and not self.needs_light


def core_pipeline(values: Mapping[str, Any]) -> CorePipeline:
    """Converts a table read with SECTION."""
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
