"""Facts about a chip for bare metal, from boards/chip/<chip>.toml: clocks, UARTs, the vendor's header."""

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
    """A serial port of the chip."""

    name: str  # in the vendor's spelling: USART2
    driver: str  # a file in project_templates/chips: uart_<driver>.c
    address: int
    clock: str  # name of the family's clock that drives the baud rate; "" if the UART has no choice
    enable: str  # the register that enables its clock, or ""
    bit: int  # of the UART in the enable register, or in the reset register


@dataclass(frozen=True, slots=True)
class MakersHeader:
    """The vendor's header of register definitions, from its CMSIS pack."""

    file: str
    define: str  # macro to define before including it; "" if the header is for one chip
    core_file: str  # the core header that it includes
    pack: str  # VENDOR.NAME


@dataclass(frozen=True, slots=True)
class ChipIdentity:
    """How a program recognizes the chip it runs on."""

    address: int  # of the register with the chip's number; 0: there is none
    mask: int
    values: tuple[int, ...]  # of the number, for the variants of this chip
    serial: tuple[int, ...]  # addresses of the words that no other chip has


@dataclass(frozen=True, slots=True)
class BareChip:
    name: str  # the file name without its extension
    title: str
    family: str  # a key of platforms.chip_families
    interrupts: int  # device interrupts, after the core's sixteen vectors
    has_caches: bool  # the core has caches, disabled at reset
    clock: Mapping[str, int]  # clock settings of the family
    uarts: Mapping[str, ChipUart]
    makers: MakersHeader | None
    identity: ChipIdentity | None
    sources: tuple[str, ...]


UART = {
    "driver": Key(text),
    "address": Key(at_least(0)),
    "clock": Key(text, ""),
    "enable": Key(text, ""),
    "bit": Key(at_least(0), 0),
}
MAKERS = {"file": Key(text), "define": Key(text, ""), "core_file": Key(text), "pack": Key(text)}


def _addresses(value: Any, name: str, place: FilePlace) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise BoardFileError(f'"{name}" must be a list of numbers, not {value!r}', str(place))
    return tuple(at_least(0)(each, name, place) for each in value)


IDENTITY = {
    "address": Key(at_least(0), 0),
    "mask": Key(at_least(1), 0xFFFF_FFFF),
    "values": Key(_addresses, ()),
    "serial": Key(_addresses, ()),
}


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
    "identity": Key(OneTable(IDENTITY), None),
    "sources": Key(texts),
}


def load_chip(name: str, where: str) -> BareChip:
    """Returns the chip with this name. Raises BoardFileError, located at `where`, if it is missing."""
    file = find_file(name, _FOLDER)
    if file is None:
        known = file_names(_FOLDER)
        raise BoardFileError(
            f'chip "{name}" not found{did_you_mean(name, known)}', where, f"known: {', '.join(known)}"
        )
    values = read_table(read_toml(file, "chip file"), CHIP, FilePlace(str(file)))
    makers, identity = values.pop("makers"), values.pop("identity")
    return BareChip(
        name=name,
        makers=MakersHeader(**makers) if makers else None,
        identity=ChipIdentity(**identity) if identity else None,
        **values,
    )
