"""Defines the keys of a board file and the type of each value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from boards.board import Board, BoardStatus
from boards.flash_access import SECTION as FLASH_ACCESS
from boards.schema import (
    Key,
    Keys,
    ListOfTables,
    NamedTables,
    OneTable,
    at_least,
    boolean,
    features,
    one_of,
    positive,
    power_of_two,
    sixteen_bits,
    tables_of_texts,
    text,
    texts,
)

ROLES = ("flash", "ram")
USB_ROLES = ("probe", "application", "bootloader")
LINES = ("probe", "usb", "pins")
REGION = {
    "name": Key(text),
    "origin": Key(at_least(0)),
    "bytes": Key(at_least(1)),
    "role": Key(one_of(ROLES)),
    "speed": Key(at_least(0), 0),
}
UART = {
    "driver": Key(text),
    "address": Key(at_least(0)),
    "clock_hz": Key(at_least(1)),
    "baud": Key(at_least(1)),
}
CONSOLE = {
    "port": Key(text),
    "baud": Key(at_least(1)),
    "line": Key(one_of(LINES)),
}
USB = {
    "vid": Key(sixteen_bits),
    "pid": Key(sixteen_bits),
    "role": Key(one_of(USB_ROLES)),
}
SECOND_CORE = {
    "core": Key(text),
    "features": Key(features, frozenset()),
    "shares_memory": Key(boolean),
    "start": Key(text, ""),
    "reason": Key(text, ""),
}
RUN_CURRENT = {
    "microamps_per_mhz": Key(positive),
    "volts": Key(positive),
    "conditions": Key(text),
    "source": Key(text),
}
COUNTER = {
    "driver": Key(one_of(("register", "dwt", "systick", "timer1", "ccount", "clock", "still"))),
    "hz": Key(at_least(1)),
    "bits": Key(at_least(1)),
    "address": Key(at_least(0), None),
    "instruction_ns": Key(power_of_two, None),
}


@dataclass(frozen=True, slots=True)
class Section:
    """Keys of a platform's or runner's table, and its requirements on the rest of the board file."""

    keys: Keys = field(default_factory=dict)
    lacks: Callable[[Board], Iterable[str]] = lambda _board: ()  # lists missing requirements
    writes: str = ""  # runners: the only platform whose firmware it can write; "": any
    reaches_memory: bool = False  # runners: its connection can write memory while the firmware waits


@dataclass(frozen=True, slots=True)
class Sections:
    """Tables of a board file that platforms and runners define, by name."""

    platforms: Mapping[str, Section]
    runners: Mapping[str, Section]


def board_keys(sections: Sections) -> Keys:
    """Returns all keys that a board file may have."""
    return _BOARD | {
        "platforms": Key(NamedTables(_KeysOf(sections.platforms)), {}),
        "runners": Key(NamedTables(_KeysOf(sections.runners)), {}),
    }


class _KeysOf(Mapping[str, Keys]):
    """Keys of all sections. A section is loaded only if a file has its table."""

    def __init__(self, sections: Mapping[str, Section]) -> None:
        self._sections = sections

    def __getitem__(self, name: str) -> Keys:
        return self._sections[name].keys

    def __contains__(self, name: object) -> bool:
        return name in self._sections

    def __iter__(self) -> Iterator[str]:
        return iter(self._sections)

    def __len__(self) -> int:
        return len(self._sections)


_BOARD = {
    "title": Key(text, ""),
    "mcu": Key(text),
    "core": Key(text),
    "features": Key(features, frozenset()),
    "clock_hz": Key(at_least(1)),
    "regions": Key(ListOfTables(REGION)),
    "flash_access": Key(FLASH_ACCESS, None),
    "uart": Key(OneTable(UART), None),
    "counter": Key(OneTable(COUNTER), None),
    "console": Key(OneTable(CONSOLE), None),
    "second_core": Key(OneTable(SECOND_CORE), None),
    "run_current": Key(OneTable(RUN_CURRENT), None),
    "usb": Key(ListOfTables(USB), ()),
    "flash_algorithm": Key(text, ""),
    "status": Key(one_of(tuple(status.value for status in BoardStatus)), BoardStatus.DATA_ONLY.value),
    "reason": Key(text, ""),
    "sources": Key(texts, ()),
    "accelerators": Key(tables_of_texts, {}),
}
