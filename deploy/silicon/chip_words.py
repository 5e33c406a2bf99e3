"""Reads the words that identify a chip, by a function in its firmware, and says what they must be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from boards.bare_chip import BareChip, load_chip
from boards.board import Board
from deploy.benchmark.meter import is_emulated

FUNCTION = "kit_word"
FILE = "kit_words.c"
_CPUID = 0xE000_ED00  # in every Cortex-M
_PART_SHIFT, _PART_MASK = 4, 0xFFF  # of CPUID
_IDS = ("mvendorid", "marchid", "mimpid")  # of RISC-V's machine mode
_TAKES_FUNCTIONS = ("baremetal", "host", "zephyr")  # platforms
_HEAD = """\
/* Words that identify the chip, for `deploy bench --kit`. */
#include "solder_function.h"

#include <stdint.h>

static uint32_t kit_word(uint32_t number)
{
    switch (number) {
"""
_TAIL = """\
    default: return 0;
    }
}
SOLDER_FUNCTION(kit_word, u32(u32));
"""
_READ_ID = 'case {}: {{ uint32_t id; __asm__ volatile("csrr %0, {}" : "=r"(id)); return id; }}'


@dataclass(frozen=True, slots=True)
class ChipWords:
    """A chip's words by name, each with the C code that returns it."""

    code: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.code)

    @property
    def files(self) -> dict[str, str]:
        """The C file with the function; none if nothing is known."""
        if not self.code:
            return {}
        return {FILE: _HEAD + "".join(f"    {line}\n" for line in self.code.values()) + _TAIL}


def words_of(board: Board, platform: str) -> ChipWords:
    """Returns the words that firmware of this platform can read on the board."""
    if platform not in _TAKES_FUNCTIONS:
        return ChipWords({})
    if board.core.machine == "riscv":
        return ChipWords({name: _READ_ID.format(n, name) for n, name in enumerate(_IDS)})
    addresses = {"cpuid": _CPUID} if board.core.cpuid_part else {}
    identity = chip.identity if (chip := _chip(board)) else None
    if identity is not None and not is_emulated(board):  # emulators have the core, not its maker's words
        addresses |= {"chip": identity.address} if identity.address else {}
        addresses |= {f"serial {n}": address for n, address in enumerate(identity.serial)}
    read = "case {}: return *(const volatile uint32_t *)0x{:08X}u;"
    return ChipWords({name: read.format(n, address) for n, (name, address) in enumerate(addresses.items())})


def _chip(board: Board) -> BareChip | None:
    name = board.platforms.get("baremetal", {}).get("chip")
    return load_chip(name, board.name) if name else None


def other_chip(board: Board, words: Mapping[str, int]) -> Iterator[str]:
    """Yields what shows that the words are of another chip than the board's."""
    part = words.get("cpuid", board.core.cpuid_part << _PART_SHIFT) >> _PART_SHIFT & _PART_MASK
    if part != board.core.cpuid_part:
        known = f"0x{board.core.cpuid_part:03X}"
        yield f"its core has the part number 0x{part:03X}, a {board.core.name} has {known}"
    chip = _chip(board)
    identity = chip.identity if chip else None
    if chip and identity and "chip" in words and words["chip"] & identity.mask not in identity.values:
        known = " or ".join(f"0x{value:X}" for value in identity.values)
        yield f"its chip has the number 0x{words['chip'] & identity.mask:X}, a {chip.title} has {known}"
