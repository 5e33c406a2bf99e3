"""Native modules for MicroPython: a model's code and constants as one .mpy file of version 6.3.

The code is linked at two addresses. A word that differs is an address, which the interpreter adjusts while
it loads the file; so the linker does all work that depends on the processor.
"""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aot.errors import ToolError
from aot.target import Feature, Target
from platforms.cartridge.code import linked
from platforms.elf import Symbol, image, symbols
from platforms.templates import template_text

VERSION, SUB_VERSION = 6, 3
_SMALL_INTEGER_BITS = 31
_FIRST = 0x1000_0000
_ELSEWHERE = 0x2_0000  # offset of the second address, but for the alignment
_NATIVE_CODE = 2  # code objects: 0 is bytecode
_RELOCATED, _WITH_MEMORY = 0x10, 0x40  # flags of the code
# What a relocated word becomes an address in.
_OF_TEXT, _OF_MEMORY, _OF_NAMES, _OF_TABLE = 0, 2, 6, 8
_LINKS = (_OF_TABLE, _OF_NAMES, _OF_MEMORY)  # of the words of solder_links
_END = b"\xff"


class UnmovableError(Exception):
    """Raised with the reason why code cannot be loaded at run time. Firmware can contain it."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """A processor family as MicroPython names it."""

    name: str
    number: int
    word_bytes: int = 4
    alignment: int = 4  # of the memory that every interpreter loads code into


X64 = Architecture("x64", 2, 8, 4096)
ARMV6M = Architecture("armv6m", 4)
ARMV7M = Architecture("armv7m", 5)
ARMV7EM = Architecture("armv7em", 6)
ARMV7EMSP = Architecture("armv7emsp", 7)
RV32IMC = Architecture("rv32imc", 11)
# An interpreter may have no C library: the module brings what it needs, or there is none.
_LIBRARIES = ("-nodefaultlibs", "-lm", "-lgcc")
_UNDEFINED = re.compile(r"undefined reference to `(\w+)'")
_SMALL_ARM = ("armv6-m", "armv8-m.base")


def architecture_of(target: Target) -> Architecture | None:
    """Returns the architecture of interpreters that run on this target; None if none loads native code."""
    if target.machine == "riscv":
        return RV32IMC if target.pointer_bytes == RV32IMC.word_bytes else None
    if target.machine == "arm":
        return _of_arm(target)
    makes_elf = sys.platform == "linux" and platform.machine() == "x86_64"
    return X64 if target.machine == "host" and makes_elf else None


def _of_arm(target: Target) -> Architecture:
    if target.architecture in _SMALL_ARM:
        return ARMV6M
    if target.has(Feature.FPU):
        return ARMV7EMSP
    return ARMV7EM if target.has(Feature.DSP) else ARMV7M


def native_module(
    name: str,
    files: Mapping[str, str],
    c_flags: Sequence[str],
    target: Target,
    architecture: Architecture,
    names: Sequence[str],
    folder: Path,
) -> bytes:
    """Compiles C files, of which one contains the Python module, in `folder`, and returns the .mpy file.

    `names` are the names that the module looks up. Raises ToolError if a compiler is missing or fails, and
    UnmovableError.
    """
    script = template_text("micropython", "native.ld").replace("WORD", str(architecture.word_bytes))
    bases = (_FIRST, _FIRST + _ELSEWHERE + architecture.alignment)
    try:
        first, second = linked(files, c_flags, target, folder, bases, script, libraries=_LIBRARIES)
    except ToolError as error:
        if missing := sorted(set(_UNDEFINED.findall(error.where))):
            raise UnmovableError(f"{name} needs {', '.join(missing)} of the C library") from error
        raise
    known = {symbol.name: symbol for symbol in symbols(first)}
    _require_no_variables(name, known)
    (low, text), (high, moved) = image(first), image(second)
    if high - low != bases[1] - bases[0] or len(text) != len(moved):
        raise UnmovableError(f"{name} needs more than {architecture.alignment} bytes of alignment")
    addresses = _addresses(name, architecture.word_bytes, text, moved, high - low)
    start = known["solder_memory_bytes"].address - low
    memory_bytes = int.from_bytes(text[start : start + 4], "little")
    links = (known["solder_links"].address - low) // architecture.word_bytes
    relocations = {**dict.fromkeys(addresses, _OF_TEXT), **{links + n: to for n, to in enumerate(_LINKS)}}
    placed = bytearray(text)
    for word in addresses:
        at = slice(word * architecture.word_bytes, (word + 1) * architecture.word_bytes)
        placed[at] = (int.from_bytes(text[at], "little") - low).to_bytes(architecture.word_bytes, "little")
    return b"".join(_file(f"{name}.mpy", architecture, names, bytes(placed), memory_bytes, relocations))


def _require_no_variables(name: str, known: Mapping[str, Symbol]) -> None:
    low, high = known["variables_low"].address, known["variables_high"].address
    if low != high:
        holders = sorted(each.name for each in known.values() if low <= each.address < high and each.bytes)
        raise UnmovableError(f"{name} needs variables of the C library: {', '.join(holders)[:80]}")


def _addresses(name: str, size: int, text: bytes, moved: bytes, distance: int) -> tuple[int, ...]:
    """Returns the numbers of the words of `size` bytes that are addresses in the text."""
    found = []
    for start in range(0, len(text), size):
        one, other = (int.from_bytes(each[start : start + size], "little") for each in (text, moved))
        if one != other:
            if other - one != distance:
                raise UnmovableError(f"{name} has an address that is not a whole word, at {start:#x}")
            found.append(start // size)
    return tuple(found)


def _file(
    name: str,
    architecture: Architecture,
    names: Sequence[str],
    text: bytes,
    memory_bytes: int,
    relocations: Mapping[int, int],
) -> Iterator[bytes]:
    yield bytes([ord("M"), VERSION, architecture.number << 2 | SUB_VERSION, _SMALL_INTEGER_BITS])
    yield _number(1 + len(names)) + _number(0)  # names, and constants that are objects
    for each in (name, *names):
        yield _number(len(each) << 1) + each.encode() + b"\0"
    yield _number(len(text) << 3 | _NATIVE_CODE) + text
    yield _number(_RELOCATED | _WITH_MEMORY) + _number(memory_bytes)
    for word, to in sorted(relocations.items()):
        kind = to << 1 if to <= _OF_MEMORY else to  # the first three can count words, which is not used
        yield bytes([kind << 1 | 1]) + _number(word << 1)
    yield _END


def _number(value: int) -> bytes:
    """Returns a number in groups of seven bits, the highest first."""
    groups = [value & 0x7F]
    while value := value >> 7:
        groups.append(0x80 | value & 0x7F)
    return bytes(reversed(groups))
