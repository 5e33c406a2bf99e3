"""Which keys a board file may have and what each must hold; everything else is an error that names them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aot.errors import BoardError, did_you_mean
from aot.target import Feature
from boards.board import Status

# A core and the features it can have.
CORES: Mapping[str, frozenset[Feature]] = {
    "cortex-m0plus": frozenset(),
    "cortex-m3": frozenset({Feature.UNALIGNED}),
    "cortex-m4": frozenset({Feature.DSP, Feature.FPU, Feature.UNALIGNED}),
    "cortex-m7": frozenset({Feature.DSP, Feature.FPU, Feature.UNALIGNED}),
    "cortex-m33": frozenset({Feature.DSP, Feature.FPU, Feature.UNALIGNED}),
    "cortex-m55": frozenset({Feature.DSP, Feature.FPU, Feature.MVE, Feature.UNALIGNED}),
    "cortex-m85": frozenset({Feature.DSP, Feature.FPU, Feature.MVE, Feature.UNALIGNED}),
    "rv32imac": frozenset(),
    "avr": frozenset(),
    "xtensa-lx7": frozenset(),
    "host": frozenset({Feature.UNALIGNED}),
}
ROLES = ("flash", "ram")
USB_ROLES = ("probe", "application", "bootloader")
LINES = ("probe", "usb", "pins")
REQUIRED = object()


@dataclass(frozen=True, slots=True)
class Place:
    """Where in which file a value stands."""

    file: str
    table: str = ""

    def inside(self, table: str) -> Place:
        return Place(self.file, f"{self.table}.{table}" if self.table else table)

    def __str__(self) -> str:
        return f"{self.file}, in [{self.table}]" if self.table else self.file


Read = Callable[[Any, str, Place], Any]


@dataclass(frozen=True, slots=True)
class Key:
    """One legal key: how its value is read, and its value where it is missing."""

    read: Read
    default: Any = REQUIRED


def read_table(table: Any, keys: Mapping[str, Key], place: Place) -> dict[str, Any]:
    """The values of a table with exactly these keys."""
    if not isinstance(table, dict):
        raise BoardError(f"must be a table, not {table!r}", str(place))
    for name in table:
        if name not in keys:
            raise BoardError(
                f'key "{name}" is not known{did_you_mean(name, keys)}',
                str(place),
                f"known keys: {', '.join(keys)}",
            )
    return {name: _value(table, name, key, place) for name, key in keys.items()}


def _value(table: Mapping[str, Any], name: str, key: Key, place: Place) -> Any:
    if name in table:
        return key.read(table[name], name, place)
    if key.default is REQUIRED:
        raise BoardError(f'key "{name}" is missing', str(place), "docs/adding-a-board.md lists every key")
    return key.default


def _bad(name: str, must: str, value: Any, place: Place) -> BoardError:
    return BoardError(f'"{name}" must be {must}, not {value!r}', str(place))


def text(value: Any, name: str, place: Place) -> str:
    if not isinstance(value, str) or not value:
        raise _bad(name, "a text", value, place)
    return value


def texts(value: Any, name: str, place: Place) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise _bad(name, "a list of texts", value, place)
    return tuple(text(item, name, place) for item in value)


def at_least(least: int) -> Read:
    def read(value: Any, name: str, place: Place) -> int:
        # bool is an int to Python, not to a board file
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise _bad(name, f"an integer of at least {least}", value, place)
        return value

    return read


def one_of(legal: tuple[str, ...]) -> Read:
    def read(value: Any, name: str, place: Place) -> str:
        if not isinstance(value, str):
            raise _bad(name, f"one of {', '.join(legal)}", value, place)
        if value not in legal:
            near = did_you_mean(value, legal)
            raise BoardError(f'{name} "{value}" is not known{near}', str(place), f"known: {', '.join(legal)}")
        return value

    return read


def boolean(value: Any, name: str, place: Place) -> bool:
    if not isinstance(value, bool):
        raise _bad(name, "true or false", value, place)
    return value


def power_of_two(value: Any, name: str, place: Place) -> int:
    if not isinstance(value, int) or value < 1 or value & (value - 1):
        raise _bad(name, "a power of two", value, place)
    return value


def sixteen_bits(value: Any, name: str, place: Place) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= 0xFFFF:
        raise _bad(name, "a number of 16 bits", value, place)
    return value


def matching(pattern: str, must: str) -> Read:
    """A text of that form, all of it."""

    def read(value: Any, name: str, place: Place) -> str:
        if not re.fullmatch(pattern, text(value, name, place)):
            raise _bad(name, must, value, place)
        return str(value)

    return read


def features(value: Any, name: str, place: Place) -> frozenset[Feature]:
    if not isinstance(value, list):
        raise _bad(name, "a list of texts", value, place)
    known = one_of(tuple(f.value for f in Feature))
    return frozenset(Feature(known(item, name, place)) for item in value)


def table_of(keys: Mapping[str, Key]) -> Read:
    return lambda value, name, place: read_table(value, keys, place.inside(name))


def tables_of(keys: Mapping[str, Key]) -> Read:
    """A list of tables: [[name]], one or more."""

    def read(value: Any, name: str, place: Place) -> tuple[dict[str, Any], ...]:
        if not isinstance(value, list) or not value:
            raise _bad(name, f"one or more tables [[{name}]]", value, place)
        return tuple(read_table(item, keys, place.inside(name)) for item in value)

    return read


def named_tables(kinds: Mapping[str, Mapping[str, Key]]) -> Read:
    """Tables [name.kind], each kind with its own keys; one or more, in the order of the file."""

    def read(value: Any, name: str, place: Place) -> dict[str, dict[str, Any]]:
        if not isinstance(value, dict) or not value:
            raise _bad(name, f"one or more tables, such as [{name}.{next(iter(kinds))}]", value, place)
        inside = place.inside(name)
        for kind in value:
            if kind not in kinds:
                near = did_you_mean(kind, kinds)
                raise BoardError(
                    f'{name[:-1]} "{kind}" is not known{near}', str(inside), f"known: {', '.join(kinds)}"
                )
        return {kind: read_table(table, kinds[kind], inside.inside(kind)) for kind, table in value.items()}

    return read


ZEPHYR_BOARD = r"[a-z0-9_]+(@[\w.]+)?(/[a-z0-9_]+)*"  # name@revision/soc/cpucluster
FQBN = r"[\w.-]+:\w+:\w+(:\w+=\w+(,\w+=\w+)*)?"  # Arduino's fully qualified board name, with options

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
COUNTER = {
    "driver": Key(one_of(("register", "dwt", "systick", "timer1", "ccount", "clock"))),
    "hz": Key(at_least(1)),
    "bits": Key(at_least(1)),
    "address": Key(at_least(0), None),
    "instruction_ns": Key(power_of_two, None),
}
PLATFORMS: Mapping[str, Mapping[str, Key]] = {
    "host": {},
    "baremetal": {},
    "zephyr": {
        "board": Key(matching(ZEPHYR_BOARD, "a Zephyr board such as mps2/an385")),
        "board_since_4_0": Key(matching(ZEPHYR_BOARD, "a Zephyr board such as mps3/corstone300/an547"), ""),
    },
    "arduino": {"fqbn": Key(matching(FQBN, "package:architecture:board"))},
}
RUNNERS: Mapping[str, Mapping[str, Key]] = {
    "exec": {},
    "qemu": {"machine": Key(text)},
    "qemu-riscv32": {"machine": Key(text)},
    "unicorn": {"cpu": Key(text)},
    "simavr": {},
    "native-sim": {},
    "west": {"runner": Key(text, "")},
    "pyocd": {
        "target": Key(matching(r"[a-z0-9_.-]+", "a target of pyocd list --targets")),
        "pack": Key(boolean, False),
    },
    "openocd": {"scripts": Key(texts)},
    "arduino-cli": {},
    "avrdude": {"programmer": Key(text), "baud": Key(at_least(1))},
    "esptool": {"chip": Key(text), "baud": Key(at_least(1)), "offset": Key(at_least(0))},
    "picotool": {},
    "uf2": {"board_id": Key(text)},
}
BOARD = {
    "title": Key(text),
    "mcu": Key(text),
    "core": Key(one_of(tuple(CORES))),
    "features": Key(features),
    "clock_hz": Key(at_least(1)),
    "regions": Key(tables_of(REGION)),
    "uart": Key(table_of(UART), None),
    "counter": Key(table_of(COUNTER)),
    "console": Key(table_of(CONSOLE), None),
    "usb": Key(tables_of(USB), ()),
    "flash_algorithm": Key(text, ""),
    "platforms": Key(named_tables(PLATFORMS), {}),
    "runners": Key(named_tables(RUNNERS), {}),
    "status": Key(one_of(tuple(s.value for s in Status))),
    "reason": Key(text, ""),
    "sources": Key(texts),
    "pointer_bytes": Key(at_least(2), 4),
}
