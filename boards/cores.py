"""A core as plain data, from boards/core/<core>.toml: its features and compiler options."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from aot.errors import BoardFileError, did_you_mean
from aot.target import Feature, FlashReads, MemoryRegion, Target
from boards.core_pipeline import SECTION as PIPELINE
from boards.core_pipeline import CorePipeline, core_pipeline
from boards.core_timing import SECTION as TIMING
from boards.core_timing import CoreTiming, core_timing
from boards.files import file_names, find_file, parse_toml, read_text
from boards.schema import FilePlace, Key, OneTable, at_least, features, one_of, read_table, text, words

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
