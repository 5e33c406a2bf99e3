"""Reads a model's object files: stored or loaded function addresses, and writable memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile
from elftools.elf.enums import ENUM_RELOC_TYPE_ARM
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

from platforms.elf import SHF_ALLOC, SHF_WRITE

_EXECUTED = 4  # SHF_EXECINSTR
_CODE, _CONSTANTS = ".text.", ".rodata."  # section prefixes of functions and their constants
_UNWINDING = ".ARM.ex"  # section prefix of C++ unwind tables
# Relocations of branch instructions, which do not store the function's address.
_GOES = frozenset(
    ENUM_RELOC_TYPE_ARM[f"R_ARM_{name}"]
    for name in ("THM_CALL", "THM_JUMP24", "THM_JUMP19", "THM_JUMP11", "THM_JUMP8")
)


@dataclass(frozen=True, slots=True)
class TakenAddress:
    """A place that stores the address of a function, which could be called through it."""

    object: str
    section: str
    function: str


@dataclass(frozen=True, slots=True)
class WrittenMemory:
    object: str
    section: str
    bytes: int


def taken_addresses(objects: Path) -> tuple[TakenAddress, ...]:
    """Returns stored addresses in the folder's object files, sorted by file name."""
    return tuple(each for path in sorted(objects.rglob("*.o")) for each in _taken(path))


def written_memory(objects: Path) -> tuple[WrittenMemory, ...]:
    """Returns the writable sections of the folder's object files."""
    return tuple(each for path in sorted(objects.rglob("*.o")) for each in _written(path))


def _taken(path: Path) -> Iterator[TakenAddress]:
    with path.open("rb") as file:
        elf, found = ELFFile(file), set()
        for relocations in elf.iter_sections():
            if not isinstance(relocations, RelocationSection):
                continue
            section = elf.get_section(relocations["sh_info"])
            table = elf.get_section(relocations["sh_link"])
            if section["sh_flags"] & SHF_ALLOC and not section.name.startswith(_UNWINDING):
                kept = (each for each in relocations.iter_relocations() if each["r_info_type"] not in _GOES)
                found |= {(section.name, _function(elf, table, each["r_info_sym"])) for each in kept}
    kept_ones = ((place, name) for place, name in sorted(found) if name and not _is_switch(place, name))
    yield from (TakenAddress(path.stem, place, name) for place, name in kept_ones)


def _is_switch(section: str, function: str) -> bool:
    """Returns whether a function's constants refer to its own code: the cases of a switch."""
    own = section.removeprefix(_CONSTANTS)
    return own != section and function == f"{_CODE}{own}"


def _function(elf: Any, table: SymbolTableSection, number: int) -> str:
    """Returns the function or function section of a symbol, or "" for data."""
    symbol = table.get_symbol(number)
    kind, place = symbol["st_info"]["type"], symbol["st_shndx"]
    if kind == "STT_FUNC":
        return str(symbol.name)
    if kind == "STT_SECTION" and elf.get_section(place)["sh_flags"] & _EXECUTED:
        return str(elf.get_section(place).name)
    return ""


def _written(path: Path) -> Iterator[WrittenMemory]:
    wanted = SHF_ALLOC | SHF_WRITE
    with path.open("rb") as file:
        for section in ELFFile(file).iter_sections():
            if section["sh_flags"] & wanted == wanted and section["sh_size"]:
                yield WrittenMemory(path.stem, section.name, section["sh_size"])
