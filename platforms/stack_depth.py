"""Computes the maximum stack depth of a function from the compiler's stack usage and the call graph.

The .su files contain each function's stack frame. Calls are relocations in the object files, because every
function has a section (-ffunction-sections). If a function's address is used, it counts as called, so the
depth is an upper bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

from aot.errors import ToolError
from platforms.base import Firmware

LIBRARY_BYTES = 64  # assumed for a C library function such as memset or expf
_TEXT = ".text."
_Place = tuple[Path, str]  # an object file, and a function in it


@dataclass(frozen=True, slots=True)
class StackDepth:
    bytes: int
    calls: tuple[str, ...]  # the deepest chain, outermost first
    library: tuple[str, ...]  # called functions of unknown stack usage; LIBRARY_BYTES are assumed


def run_stack(firmware: Firmware, model: str) -> StackDepth | None:
    """Returns the stack bytes that a run of the model needs in this firmware."""
    return stack_depth(firmware.elf.parent / "model", f"{model}_run")


def stack_depth(objects: Path, entry: str) -> StackDepth | None:
    """Returns the stack bytes of calling `entry`, or None without .su files in the folder."""
    usage = {path: _usage_of(path.with_suffix(".su")) for path in sorted(objects.rglob("*.o"))}
    place = next((path for path, mine in usage.items() if entry in mine), None)
    if place is None:
        return None
    walk = _CallWalk(usage, _calls(objects))
    total, chain = walk.deepest((place, entry))
    return StackDepth(total, chain, tuple(sorted(walk.library)))


def stack_usage(build: Path) -> dict[str, int]:
    """Returns stack bytes by function name from a folder's .su files; empty with zig."""
    usage: dict[str, int] = {}
    for file in sorted(build.rglob("*.su")):
        for name, count in _usage_of(file).items():
            usage[name] = usage.get(name, 0) + count
    return usage


def _usage_of(file: Path) -> dict[str, int]:
    usage: dict[str, int] = {}
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    for line in lines:
        place, count, _kind = line.split("\t")
        name = place.rpartition(":")[2].partition(".")[0]
        usage[name] = usage.get(name, 0) + int(count)
    return usage


@dataclass
class _CallWalk:
    """Follows calls.

    A name is resolved in the caller's object first, then in the others, because two models may define
    functions with the same name, such as layer_0.
    """

    usage: Mapping[Path, Mapping[str, int]]  # object -> function -> bytes
    calls: Mapping[_Place, frozenset[str]]
    known: dict[_Place, tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    library: set[str] = field(default_factory=set)
    above: list[_Place] = field(default_factory=list)

    def deepest(self, place: _Place) -> tuple[int, tuple[str, ...]]:
        path, name = place
        if place in self.above:
            chain = " > ".join(name for _, name in (*self.above, place))
            raise ToolError(f"{chain} is recursive, so its stack has no bound")
        if place not in self.known:
            self.above.append(place)
            below = [self._below(path, other) for other in sorted(self.calls.get(place, ()))]
            self.above.pop()
            total, chain_below = max(below, default=(0, ()))
            self.known[place] = self.usage[path][name] + total, (name, *chain_below)
        return self.known[place]

    def _below(self, caller: Path, name: str) -> tuple[int, tuple[str, ...]]:
        for path in (caller, *self.usage):
            if name in self.usage[path]:
                return self.deepest((path, name))
        self.library.add(name)
        return LIBRARY_BYTES, (name,)


def _calls(objects: Path) -> dict[_Place, frozenset[str]]:
    called: dict[_Place, frozenset[str]] = {}
    data: set[str] = set()
    for path in sorted(objects.rglob("*.o")):
        with path.open("rb") as file:
            elf = ELFFile(file)
            data |= set(_data(elf))
            for caller, other in _edges(elf):
                place = path, caller
                called[place] = called.get(place, frozenset()) | {other}
    return {caller: others - data for caller, others in called.items()}


def _data(elf: Any) -> Iterator[str]:
    """Yields the variables and constants defined in an object file."""
    for table in elf.iter_sections():
        if isinstance(table, SymbolTableSection):
            yield from (s.name for s in table.iter_symbols() if s["st_info"]["type"] == "STT_OBJECT")


def _edges(elf: Any) -> Iterator[tuple[str, str]]:
    """Yields pairs of a function and another function that it calls or references."""
    for section in elf.iter_sections():
        if isinstance(section, RelocationSection):
            caller = _function_of(elf.get_section(section["sh_info"]).name)
            table = elf.get_section(section["sh_link"])
            if caller and isinstance(table, SymbolTableSection):
                called = {_named(elf, table, r["r_info_sym"]) for r in section.iter_relocations()}
                yield from ((caller, other) for other in sorted(called - {"", caller}))


def _named(elf: Any, table: SymbolTableSection, number: int) -> str:
    """Returns the function that a relocation refers to, or "" for data of this object."""
    symbol = table.get_symbol(number)
    kind, place = symbol["st_info"]["type"], symbol["st_shndx"]
    if kind == "STT_FUNC" or place == "SHN_UNDEF":
        return str(symbol.name).partition(".")[0]
    return _function_of(elf.get_section(place).name) if kind == "STT_SECTION" else ""


def _function_of(section: str) -> str:
    """Returns the function in a section, without the suffix of a clone (layer_3.isra.0)."""
    return section.removeprefix(_TEXT).partition(".")[0] if section.startswith(_TEXT) else ""
