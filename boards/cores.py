"""A core as plain data, from boards/core/<core>.toml: its features and compiler options."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from aot.errors import BoardFileError, did_you_mean
from aot.target import Feature, FlashReads, MemoryRegion, Target
from boards.files import file_names, find_file, parse_toml, read_text
from boards.schema import (
    FilePlace,
    Key,
    Keys,
    ListOfTables,
    OneTable,
    Read,
    at_least,
    boolean,
    features,
    one_of,
    read_table,
    text,
    texts,
    words,
)

# Cycle counts of a core's instructions: the table [timing] of boards/core/<core>.toml, as data.

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
    kind: str  # one of ERROR_KINDS

    def __str__(self) -> str:
        percent = f"{self.mean_percent} % on average, {self.worst_percent} % at most"
        points = f"{self.points} {self.kind} {'point' if self.points == 1 else 'points'}"
        return f"{percent} ({points}: {self.on})"


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
# Whether parameters of the model were chosen with the points in view, or not.
ERROR_KINDS = ("in-sample", "held-out")
ERROR = OneTable(
    {
        "mean_percent": Key(at_least(0)),
        "worst_percent": Key(at_least(0)),
        "points": Key(at_least(1)),
        "on": Key(text),
        "kind": Key(one_of(ERROR_KINDS)),
    }
)
TIMING = OneTable(
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


# The pipeline of a dual-issue core: the table [pipeline] of a core file, as data.

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
PIPELINE = OneTable(
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


MACHINES = ("arm", "riscv", "avr", "xtensa", "host")  # select compilers and startup code
_FOLDER = "core"
_FAMILY = "cortex-"  # prefix of most core names
_CORES_KEPT = 64
# "{fpu:hard}" in an option becomes "hard" with an FPU, else ""; "{mve,no fpu:+mve}" has two conditions.
_CONDITIONAL = re.compile(r"\{([^{}:]*):([^{}]*)\}")
_NOT = "no "


@dataclass(frozen=True, slots=True)
class CoreCounter:
    """The core's cycle counter, for chips without another counter."""

    driver: str
    bits: int


@dataclass(frozen=True, slots=True)
class Core:
    """A processor core; each chip selects optional features."""

    name: str  # the file name without its extension
    machine: str  # one of MACHINES
    architecture: str  # see Target.architecture
    has: frozenset[Feature]  # in every such core
    can_have: frozenset[Feature]
    pointer_bytes: int
    registers: int  # see Target.registers
    constant_space: str  # see Target.constant_space
    counter: CoreCounter | None
    options: Mapping[str, tuple[str, ...]]  # by compiler family, with conditions
    gcc_libraries: tuple[str, ...]  # extra for gcc's linker, if it has no libraries for exactly these options
    cpuid_part: int  # part number in Arm's register CPUID; 0: it has none
    unicorn: str  # its name in the unicorn package; "" if not supported there
    aliases: tuple[str, ...]  # further names for --target: chips, architectures
    stand_in: str  # a QEMU board that executes its code if unicorn cannot; "": there is no such board
    timing: CoreTiming | None  # cycles of single instructions; None: unknown
    pipeline: CorePipeline | None  # used instead of `timing` for dual-issue cores

    def target(
        self,
        chosen: Collection[Feature] = (),
        regions: tuple[MemoryRegion, ...] = (),
        code_cache_bytes: int = 0,
        flash_reads: FlashReads | None = None,
    ) -> Target:
        """Returns the core with these optional features and memories as a compilation target."""
        return Target(
            core=self.name,
            features=self.has.union(chosen),
            regions=regions,
            pointer_bytes=self.pointer_bytes,
            registers=self.registers,
            constant_space=self.constant_space,
            code_cache_bytes=code_cache_bytes,
            flash_reads=flash_reads,
            pairs_instructions=self.pipeline is not None and self.pipeline.pairs_any,
            adds_apart=self.timing is not None and self.timing.cycles.get("float_multiply_add", 1) > 2,
            machine=self.machine,
            architecture=self.architecture,
        )

    def compiler_options(self, family: str, chosen: Collection[Feature]) -> tuple[str, ...]:
        """Returns the options for this compiler family and the core with exactly these features."""
        options = (_CONDITIONAL.sub(lambda part: _word(part, chosen), word) for word in self.options[family])
        return tuple(option for option in options if option)


def _word(part: re.Match[str], chosen: Collection[Feature]) -> str:
    return part[2] if all(is_wanted == (f in chosen) for f, is_wanted in _conditions(part[1])) else ""


def _conditions(said: str) -> Iterator[tuple[Feature, bool]]:
    """Yields each feature of a condition, and whether it must be present."""
    for condition in said.split(","):
        yield Feature(condition.removeprefix(_NOT)), not condition.startswith(_NOT)


def load_core(name: str, where: str = "") -> Core:
    """Returns the core with this name. Errors are located at `where`."""
    file = find_file(name, _FOLDER)
    if file is None:
        known = core_names()
        raise BoardFileError(
            f'core "{name}" is not known{did_you_mean(name, known)}', where, f"known: {', '.join(known)}"
        )
    return _read_core(file)


def core_called(name: str, where: str = "") -> Core:
    """Returns the core with this name or alias. Raises BoardFileError, which lists all names."""
    if find_file(name, _FOLDER) is None:
        for each in core_names():
            if name in load_core(each).aliases:
                return load_core(each)
    return load_core(name, where)


def core_names() -> tuple[str, ...]:
    return file_names(_FOLDER)


def short_name(core: str) -> str:
    """Returns the name without its prefix: "m4" for "cortex-m4"."""
    return core.removeprefix(_FAMILY)


def _read_core(file: Path) -> Core:
    return _core_of(read_text(file, "core file"), file)


@lru_cache(maxsize=_CORES_KEPT)
def _core_of(toml: str, file: Path) -> Core:
    """Parses a core file. Cached, because many boards share a core."""
    place = FilePlace(str(file))
    values = read_table(parse_toml(toml, file), CORE, place)
    counter = values["counter"] and CoreCounter(**values["counter"])
    options = {family: said for family, said in values["options"].items() if said is not None}
    timing = values["timing"] and core_timing(values["timing"])
    pipeline = values["pipeline"] and core_pipeline(values["pipeline"])
    made = {"counter": counter, "options": options, "timing": timing, "pipeline": pipeline}
    core = Core(name=file.stem, **values | made)
    _check(core, place)
    return core


def _check(core: Core, place: FilePlace) -> None:
    both = sorted(core.has & core.can_have)
    if both:
        raise BoardFileError(
            f"a feature that the core always has cannot be optional: {', '.join(both)}", str(place)
        )
    optional = sorted(core.can_have)
    legal = {*optional, *(_NOT + name for name in optional)}
    for family, options in core.options.items():
        for part in (found for option in options for found in _CONDITIONAL.finditer(option)):
            foreign = sorted(set(part[1].split(",")) - legal)
            if foreign:
                raise BoardFileError(
                    f'"{part[0]}" requires "{foreign[0]}", which is not an option of this core',
                    str(place.inside("options")),
                    f"in {family}; known: {', '.join(sorted(legal)) or 'none'}",
                )


_COUNTER = {"driver": Key(text), "bits": Key(at_least(1))}
_OPTIONS = {"gcc": Key(words, None), "zig": Key(words, None)}
CORE = {
    "machine": Key(one_of(MACHINES)),
    "architecture": Key(text, ""),
    "has": Key(features, frozenset()),
    "can_have": Key(features, frozenset()),
    "pointer_bytes": Key(at_least(2)),
    "registers": Key(at_least(0), 0),
    "constant_space": Key(text, ""),
    "counter": Key(OneTable(_COUNTER), None),
    "options": Key(OneTable(_OPTIONS), {}),
    "gcc_libraries": Key(words, ()),
    "cpuid_part": Key(at_least(0), 0),
    "unicorn": Key(text, ""),
    "aliases": Key(words, ()),
    "stand_in": Key(text, ""),
    "timing": Key(TIMING, None),
    "pipeline": Key(PIPELINE, None),
}
