"""Reads ELF files: flash and RAM of each part, symbols, and source lines of addresses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aot.errors import ToolError

SHF_WRITE, SHF_ALLOC = 1, 2


@dataclass(frozen=True, slots=True)
class ProgramSizes:
    """Sizes of a program or object file in bytes."""

    code: int  # instructions and read-only data, including the model's constants
    data: int  # initialized variables: they need RAM, and flash for the initial values
    zeroed: int  # all other RAM: variables, arena, stack

    @property
    def flash(self) -> int:
        return self.code + self.data

    @property
    def ram(self) -> int:
        return self.data + self.zeroed


@dataclass(frozen=True, slots=True)
class Symbol:
    name: str
    address: int
    bytes: int
    kind: str  # "STT_FUNC", "STT_OBJECT", ...


@dataclass(frozen=True, slots=True)
class Segment:
    """A loaded part of a program."""

    addresses: range
    data: bytes


def segments(program: Path) -> tuple[Segment, ...]:
    """Returns the loaded segments of an ELF file at their run-time addresses."""
    with program.open("rb") as file:
        return tuple(
            Segment(range(each["p_vaddr"], each["p_vaddr"] + each["p_filesz"]), each.data())
            for each in _open(file, program).iter_segments()
            if each["p_type"] == "PT_LOAD" and each["p_filesz"]
        )


def sizes(program: Path) -> ProgramSizes:
    """Returns the sizes of an ELF file."""
    with program.open("rb") as file:
        elf = _open(file, program)
        code = data = zeroed = 0
        for section in elf.iter_sections():
            flags, count = section["sh_flags"], section["sh_size"]
            if not flags & SHF_ALLOC:
                continue
            if section["sh_type"] == "SHT_NOBITS":  # includes the stack, which LLVM does not mark as writable
                zeroed += count
            elif not flags & SHF_WRITE:
                code += count
            else:
                data += count
    return ProgramSizes(code, data, zeroed)


def symbols(program: Path) -> tuple[Symbol, ...]:
    with program.open("rb") as file:
        return tuple(_symbols(_open(file, program)))


def function_at(program: Path, address: int) -> str:
    """Returns the name of the function at an address, or ""."""
    for symbol in symbols(program):
        low = symbol.address & ~1  # bit 0 is set for Thumb functions
        if symbol.kind == "STT_FUNC" and low <= address < low + symbol.bytes:
            return symbol.name
    return ""


def line_at(program: Path, address: int) -> str:
    """Returns the source line of an address as "file.c:12", or "" without debug information."""
    with program.open("rb") as file:
        elf = _open(file, program)
        if not elf.has_dwarf_info():
            return ""
        dwarf = elf.get_dwarf_info()
        for unit in dwarf.iter_CUs():
            line_program = dwarf.line_program_for_CU(unit)
            if line_program is not None and (place := _line_in(line_program, address)):
                return place
    return ""


def place_at(program: Path, address: int) -> str:
    """Returns the function and line of an address as "conv (kws.c:120)", as far as known."""
    line = line_at(program, address)
    return f"{function_at(program, address)} ({line})" if line else function_at(program, address)


def image(program: Path) -> tuple[int, bytes]:
    """Returns the address of the first loaded byte and all bytes from there, with gaps zeroed."""
    with program.open("rb") as file:
        elf = _open(file, program)
        parts = [(s["p_paddr"], s.data()) for s in elf.iter_segments() if s["p_type"] == "PT_LOAD"]
    parts = sorted((address, data) for address, data in parts if data)
    first = parts[0][0] if parts else 0
    whole = bytearray()
    for address, data in parts:
        whole += bytes(address - first - len(whole)) + data
    return first, bytes(whole)


def _line_in(line_program: Any, address: int) -> str:
    """Searches one unit's line table. Each row applies up to the address of the next one."""
    before = None
    for entry in line_program.get_entries():
        state = entry.state
        if state is None:
            continue
        if before is not None and before.address <= address < state.address:
            return f"{_file_name(line_program, before.file)}:{before.line}"
        before = None if state.end_sequence else state
    return ""


def _file_name(line_program: Any, index: int) -> str:
    first = 0 if line_program["version"] >= 5 else 1  # DWARF 5 numbers files from 0
    name: bytes = line_program["file_entry"][index - first].name
    return Path(name.decode(errors="replace")).name


def _symbols(elf: Any) -> Iterator[Symbol]:
    from elftools.elf.sections import SymbolTableSection

    for section in elf.iter_sections():
        if isinstance(section, SymbolTableSection):
            for symbol in section.iter_symbols():
                yield Symbol(symbol.name, symbol["st_value"], symbol["st_size"], symbol["st_info"]["type"])


def _open(file: Any, program: Path) -> Any:
    from elftools.common.exceptions import ELFError  # loads fifty modules, and most commands read no program
    from elftools.elf.elffile import ELFFile

    try:
        return ELFFile(file)
    except ELFError as error:
        raise ToolError(f"not an ELF file: {error}", str(program), "create one with: deploy build") from error
