"""A chip as bare metal needs it, from boards/chip/<chip>.toml: clocks, UARTs, its maker's header."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aot.errors import BoardFileError, did_you_mean
from boards.files import file_names, find_file, read_toml
from boards.schema import FilePlace, Key, OneTable, at_least, boolean, read_table, text, texts

_FOLDER = "chip"


@dataclass(frozen=True, slots=True)
class ChipUart:
    """One of the chip's serial ports."""

    name: str  # as its maker calls it: USART2
    driver: str  # the file in project_templates/chips: uart_<driver>.c
    address: int
    clock: str  # which of the family's clocks counts its bits; "" where it has no choice
    enable: str  # the register that switches it on; "" where there is none
    bit: int  # there, or in the register of resets


@dataclass(frozen=True, slots=True)
class MakersHeader:
    """The header that describes the chip's registers, in its maker's CMSIS pack."""

    file: str
    define: str  # what it wants defined; "" where it is for one chip
    core_file: str  # the header of the core that it includes
    pack: str  # VENDOR.NAME


@dataclass(frozen=True, slots=True)
class BareChip:
    name: str  # the file's name without its ending
    title: str
    family: str  # of platforms.chip_families
    interrupts: int  # the device's own, behind the core's sixteen vectors
    has_caches: bool  # which come up switched off
    clock: Mapping[str, int]  # facts of the family's clocks
    uarts: Mapping[str, ChipUart]
    makers: MakersHeader | None
    sources: tuple[str, ...]


UART = {
    "driver": Key(text),
    "address": Key(at_least(0)),
    "clock": Key(text, ""),
    "enable": Key(text, ""),
    "bit": Key(at_least(0), 0),
}
MAKERS = {"file": Key(text), "define": Key(text, ""), "core_file": Key(text), "pack": Key(text)}


def _integers(value: Any, name: str, place: FilePlace) -> dict[str, int]:
    if not isinstance(value, dict):
        raise BoardFileError(f'"{name}" must be a table, not {value!r}', str(place))
    inside = place.inside(name)
    return {key: at_least(0)(each, key, inside) for key, each in value.items()}


def _uarts(value: Any, name: str, place: FilePlace) -> dict[str, ChipUart]:
    if not isinstance(value, dict) or not value:
        raise BoardFileError(f"must have one or more tables, such as [{name}.UART0]", str(place))
    inside = place.inside(name)
    return {key: ChipUart(key, **read_table(each, UART, inside.inside(key))) for key, each in value.items()}


CHIP = {
    "title": Key(text),
    "family": Key(text),
    "interrupts": Key(at_least(1)),
    "has_caches": Key(boolean, False),
    "clock": Key(_integers, {}),
    "uarts": Key(_uarts),
    "makers": Key(OneTable(MAKERS), None),
    "sources": Key(texts),
}


def load_chip(name: str, where: str) -> BareChip:
    """The chip of that name; `where` says who asks for it. Raises BoardFileError."""
    file = find_file(name, _FOLDER)
    if file is None:
        known = file_names(_FOLDER)
        raise BoardFileError(
            f'chip "{name}" not found{did_you_mean(name, known)}', where, f"known: {', '.join(known)}"
        )
    values = read_table(read_toml(file, "chip file"), CHIP, FilePlace(str(file)))
    makers = values.pop("makers")
    return BareChip(name=name, makers=MakersHeader(**makers) if makers else None, **values)
