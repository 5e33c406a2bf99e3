"""Bare-metal files for physical boards: clocks, pins, UART and fault handlers of the chip, by tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from boards.bare_chip import BareChip, ChipUart, load_chip
from boards.board import Board
from platforms.chip_families import FAMILIES, ChipFamily, Pin, read_pin
from platforms.project import App
from platforms.templates import c_files, filled, template_text

_TEMPLATES = "chips"
_TICKS = {
    "dwt": "DWT_CYCLES",
    "register": "BOARD_REGISTER({address:#010x}u)",
    "still": "0",
}  # in C, by counter driver
_ALWAYS = ("wait.c", "ending.c", "interrupts.c")
_RPC = ("deadline.c", "last_call.c", "last_call.h")  # for every Cortex-M
_DEFAULT_BAUD = 115_200
GUARD_BYTES = 0x800  # below the stack; small, because ST's data further below must be readable


@dataclass(frozen=True, slots=True)
class BareBoard:
    """A board's chip, with the UART and pins in use."""

    chip: BareChip
    family: ChipFamily
    uart: ChipUart
    tx: Pin
    rx: Pin


def is_bare_board(board: Board) -> bool:
    """Returns whether the board file names a chip, so that this platform drives its clocks and UART."""
    return "chip" in _table(board)


def lacks_for_chip(board: Board) -> Iterator[str]:
    """Yields requirements of the chip that the board file does not meet."""
    table = _table(board)
    if board.own_counter is None or board.own_counter.driver not in _TICKS:
        yield f"a [counter] with driver = {' or '.join(map(_quoted, _TICKS))}"
    if board.core.machine != "arm":
        yield f"a Cortex-M core for a chip, not {board.core.name}"
    missing = [key for key in ("uart", "tx", "rx") if not table.get(key)]
    if missing:
        yield f"{' and '.join(missing)} in addition to chip: the UART and its pins"
        return
    chip = load_chip(table["chip"], board.name)
    if chip.family not in FAMILIES:
        yield f"a chip of a supported family ({', '.join(FAMILIES)}), not {_quoted(chip.family)}"
        return
    family = FAMILIES[chip.family]
    unsaid = [key for key in family.clock_keys if key not in chip.clock]
    if unsaid:
        yield f"{', '.join(unsaid)} in [clock] of the chip {chip.name}"
    yield from _lacks_uart(chip, family, table["uart"])
    for key in ("tx", "rx"):
        if read_pin(family, table[key]) is None:
            yield f"{key} as {family.pin_example}, not {_quoted(table[key])}"


def _lacks_uart(chip: BareChip, family: ChipFamily, name: str) -> Iterator[str]:
    if name not in chip.uarts:
        yield f"a uart that {chip.title} has ({', '.join(chip.uarts)}), not {_quoted(name)}"
        return
    uart = chip.uarts[name]
    if uart.driver not in (known := uart_drivers()):
        yield f"a uart with a supported driver ({', '.join(known)}), not {_quoted(uart.driver)}"
    if uart.clock not in family.uart_clocks:
        clocks = ", ".join(map(_quoted, family.uart_clocks))
        yield f"a uart with a clock of its family ({clocks}), not {_quoted(uart.clock)}"


def _quoted(text: str) -> str:
    return f'"{text}"'


def _table(board: Board) -> dict[str, str]:
    table = board.platforms.get("baremetal", {})
    return {key: value for key, value in table.items() if value}


def uart_drivers() -> tuple[str, ...]:
    """Returns the names of the available UART drivers."""
    return tuple(
        name.removeprefix("uart_").removesuffix(".c")
        for name, _ in c_files(_TEMPLATES)
        if name.startswith("uart_")
    )


def bare_board(board: Board) -> BareBoard:
    """Returns the board's chip and its wiring. The board file has already been checked."""
    table = _table(board)
    chip = load_chip(table["chip"], board.name)
    family = FAMILIES[chip.family]
    tx, rx = (read_pin(family, table[key]) for key in ("tx", "rx"))
    assert tx is not None  # checked by lacks_for_chip
    assert rx is not None
    return BareBoard(chip, family, chip.uarts[table["uart"]], tx, rx)


def chip_words(board: Board) -> dict[str, Any]:
    """Returns the template variables of the board's chip. Raises BoardError for an impossible clock."""
    bare = bare_board(board)
    return {
        "board": board,
        "chip": bare.chip,
        "uart": bare.uart,
        "tx": bare.tx,
        "rx": bare.rx,
        "ports": sorted({bare.tx.port, bare.rx.port}),
        "header": bare.chip.makers.file if bare.chip.makers else "",
        "has_caches": bare.chip.has_caches,
        "baud": board.console.baud if board.console else _DEFAULT_BAUD,
        "ticks": _TICKS[board.counter.driver].format(address=board.counter.address or 0),
        "words": bare.family.words(bare.chip, bare.uart, board.clock_hz),
    }


def chip_files(board: Board, app: App) -> dict[str, str]:
    """Returns the C files of src/board for a chip, except board.h and startup.c."""
    bare, words = bare_board(board), chip_words(board)
    own = [*bare.family.files, f"uart_{bare.uart.driver}.c", *_ALWAYS, "port.c.jinja", "device.h.jinja"]
    if bare.chip.has_caches:
        own.append("caches.c")
    files = {_name(file): _text(file, words) for file in own}
    files["registers.h"] = filled(_TEMPLATES, bare.family.registers, **words)
    return files | _app_files(app)


def _app_files(app: App) -> dict[str, str]:
    if app is App.RPC:
        own = {name: template_text("cortex_m", name) for name in _RPC}
        return {
            **own,
            "fault.c": template_text("cortex_m", "fault_rpc.c"),
            "rate.c": template_text("baremetal", "rate.c"),
        }
    own = {"fault.c": template_text(_TEMPLATES, "fault_standalone.c")}
    if app is App.STANDALONE:
        own |= {name: template_text(_TEMPLATES, name) for name in ("milliseconds.c", "milliseconds.h")}
    return own


def _name(file: str) -> str:
    return file.removesuffix(".jinja")


def _text(file: str, words: dict[str, Any]) -> str:
    is_template = file.endswith(".jinja")
    return filled(_TEMPLATES, file, **words) if is_template else template_text(_TEMPLATES, file)
