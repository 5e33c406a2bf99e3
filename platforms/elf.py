"""Reads built programs: the flash and RAM that their parts take, and the source lines of addresses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aot.errors import ToolError

SHF_WRITE, SHF_ALLOC = 1, 2


@dataclass(frozen=True, slots=True)
class ProgramSizes:
    """The sizes in bytes of a program or an object file."""

    code: int  # instructions and read-only data, the model's constants among it
    data: int  # variables with a value at the start: RAM, and flash to hold that value
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
    """A part of a program as it lies in memory when it runs."""

    addresses: range
    data: bytes


def segments(program: Path) -> tuple[Segment, ...]:
    """Reads the parts of an ELF file that are loaded, by the addresses at which they are used."""
    with program.open("rb") as file:
        return tuple(
            Segment(range(each["p_vaddr"], each["p_vaddr"] + each["p_filesz"]), each.data())
            for each in _open(file, program).iter_segments()
            if each["p_type"] == "PT_LOAD" and each["p_filesz"]
        )


def sizes(program: Path) -> ProgramSizes:
    """The sizes of an ELF file."""
    with program.open("rb") as file:
        elf = _open(file, program)
        code = data = zeroed = 0
        for section in elf.iter_sections():
            flags, count = section["sh_flags"], section["sh_size"]
            if not flags & SHF_ALLOC:
                continue
            if section["sh_type"] == "SHT_NOBITS":  # the stack is, which LLVM's linker does not call written
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
    """The name of the function that holds an address of the program; "" where there is none."""
    for symbol in symbols(program):
        low = symbol.address & ~1  # Thumb functions have the lowest bit set
        if symbol.kind == "STT_FUNC" and low <= address < low + symbol.bytes:
            return symbol.name
    return ""


def line_at(program: Path, address: int) -> str:
    """The source line of an address, as "file.c:12"; "" where the program does not say."""
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
    """The function and line of an address, as "conv (kws.c:120)", as far as the program says."""
    line = line_at(program, address)
    return f"{function_at(program, address)} ({line})" if line else function_at(program, address)


def image(program: Path) -> tuple[int, bytes]:
    """The address of a program's first loaded byte, and all bytes from there on; gaps are zeros."""
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
    """Searches one unit's rows, each of which holds from its address to the next row's."""
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
    first = 0 if line_program["version"] >= 5 else 1  # DWARF 5 counts files from 0
    name: bytes = line_program["file_entry"][index - first].name
    return Path(name.decode(errors="replace")).name


def _symbols(elf: Any) -> Iterator[Symbol]:
    from elftools.elf.sections import SymbolTableSection

    for section in elf.iter_sections():
        if isinstance(section, SymbolTableSection):
            for symbol in section.iter_symbols():
                yield Symbol(symbol.name, symbol["st_value"], symbol["st_size"], symbol["st_info"]["type"])


def _open(file: Any, program: Path) -> Any:
    from elftools.common.exceptions import ELFError  # fifty modules, and most commands read no program
    from elftools.elf.elffile import ELFFile

    try:
        return ELFFile(file)
    except ELFError as error:
        raise ToolError(f"not an ELF file: {error}", str(program), "deploy build makes one") from error
