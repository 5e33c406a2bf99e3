"""Pages about boards: a list of suitable ones, and all facts about one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from aot.errors import BoardError, did_you_mean
from aot.target import MemoryRegion
from boards.board import Board, RunCurrent
from boards.board_text import boards_table, size_text
from boards.cores import core_names, short_name
from codegen.fit.memory_use import MemoryUse
from codegen.job import import_model
from codegen.options import CompileOptions
from deploy.cli.command_result import Answer
from deploy.cli.console import table
from deploy.devices.board_filter import COUNTED, Wanted, fitting
from deploy.inspection.inspect_facts import memory_use_facts
from platforms import PLATFORMS
from platforms.board_files import all_boards, load_board

OF_ONE_BOARD = (
    "ram",
    "flash",
    "pool",
    "constants",
    "place",
    "tuning_records",
    "force",
    "name",  # the name in generated C
)  # the other options affect compilation


def one_board(name: str) -> Answer:
    """Returns all facts about a board."""
    board = load_board(name)
    return Answer(board_facts(board), board_page(board))


def boards_that_suit(
    wanted: Wanted, model: Path | None, options: CompileOptions, markdown: bool = False
) -> Answer:
    """Lists suitable boards; with a model, only those it fits."""
    _require_known("core", wanted.core, _core_names())
    _require_known("platform", wanted.platform, PLATFORMS)
    found = [board for board in all_boards() if wanted.suits(board)]
    if model:
        return _with_room(found, model, options)
    page = boards_table(found).rstrip() if markdown else _list_page(found)
    return Answer([board_facts(board) for board in found], page)


def _with_room(found: Sequence[Board], model: Path, options: CompileOptions) -> Answer:
    fits = fitting(found, import_model(model, options), options)
    facts = [
        board_facts(fit.board)
        | {
            "memory": [memory_use_facts(use) for use in fit.report.memory],
            "counts_firmware": fit.report.counts_firmware,
        }
        for fit in fits
    ]
    rows = [
        (
            fit.board.name,
            fit.board.core.name,
            *map(_needed, fit.report.memory),
            COUNTED[fit.report.counts_firmware],
        )
        for fit in fits
    ]
    return Answer(
        facts,
        table(("name", "core", "RAM", "flash", "counted"), rows) if rows else "no board has enough memory",
    )


def _needed(use: MemoryUse) -> str:
    """Formats the bytes needed of a memory, with its name if the heading does not imply it."""
    region = use.region
    named = "" if region.name in ("RAM", "FLASH") else f" in {region.name}"
    return f"{use.needed_bytes:,} of {region.bytes:,}{named}"


def _core_names() -> tuple[str, ...]:
    """Returns the names of all cores, long and short."""
    names = core_names()
    return tuple(dict.fromkeys((*names, *map(short_name, names))))


def _require_known(what: str, name: str | None, known: Sequence[str] | Any) -> None:
    if name is not None and name not in known:
        raise BoardError(
            f'{what} "{name}" is not known{did_you_mean(name, known)}', hint=f"known: {', '.join(known)}"
        )


def board_facts(board: Board) -> dict[str, Any]:
    """Returns the facts about a board as JSON data."""
    return {
        "name": board.name,
        "title": board.title,
        "mcu": board.mcu,
        "core": board.core.name,
        "features": _features(board),
        "clock_hz": board.clock_hz,
        "ram_bytes": board.target.ram_bytes,
        "flash_bytes": board.target.flash_bytes,
        "regions": [
            {"name": r.name, "role": r.role, "origin": r.origin, "bytes": r.bytes, "speed": r.speed}
            for r in board.regions
        ],
        "usb": [{"vid": usb.vid, "pid": usb.pid, "role": usb.role} for usb in board.usb],
        "platforms": {name: dict(names) for name, names in board.platforms.items()},
        "flash_algorithm": board.flash_algorithm or None,
        "accelerators": {name: dict(options) for name, options in board.accelerators.items()},
        "run_current": board.run_current and asdict(board.run_current),
        "runners": {name: dict(settings) for name, settings in board.runners.items()},
        "status": board.status.value,
        "reason": board.reason,
        "sources": list(board.sources),
    }


def _list_page(boards: Sequence[Board]) -> str:
    heads = ("name", "core", "RAM", "flash", "clock", "status", "what it is")
    return table(heads, [_row(board) for board in boards]) if boards else "no board matches"


def _row(board: Board) -> tuple[str, ...]:
    target = board.target
    memory = (size_text(target.ram_bytes), size_text(target.flash_bytes))
    return (board.name, board.core.name, *memory, _clock(board), board.status.value, board.title)


def board_page(board: Board) -> str:
    console = board.console
    lines = (
        ("what it is", f"{board.title} ({board.mcu})"),
        ("core", f"{board.core.name}, {_clock(board)}"),
        ("features", ", ".join(_features(board)) or "none"),
        *((region.name, _region(region)) for region in board.regions),
        *([("console", f"{console.port}, {console.baud:,} baud, {_LINES[console.line]}")] if console else []),
        *([("algorithm", board.flash_algorithm)] if board.flash_algorithm else []),
        *([("current", _current(board.run_current))] if board.run_current else []),
        *(("USB", f"{usb.vid:04x}:{usb.pid:04x} ({usb.role})") for usb in board.usb),
        *(("accelerator", f"{name}: {_options(values)}") for name, values in board.accelerators.items()),
        ("platforms", ", ".join(_named(board.platforms)) or "none"),
        ("runners", ", ".join(board.runners) or "none"),
        ("status", board.status.value + (f": {board.reason}" if board.reason else "")),
        *(("source", source) for source in board.sources),
    )
    return "\n".join((board.name, *(f"  {name:11} {value}" for name, value in lines)))


_LINES = {
    "probe": "through the debug probe",
    "usb": "the chip's own USB",
    "pins": "on pins, needs an adapter",
}


def _named(platforms: Any) -> list[str]:
    """Lists the platforms with their names of the board."""
    return [" ".join((platform, *names.values())) for platform, names in platforms.items()]


def _options(values: Mapping[str, str]) -> str:
    return ", ".join(f"{option}={value}" for option, value in values.items())


def _features(board: Board) -> list[str]:
    return sorted(board.features)


def _region(region: MemoryRegion) -> str:
    return f"{region.role}, {region.bytes:,} bytes at {region.origin:#010x}"


def _current(current: RunCurrent) -> str:
    stated = f"{current.microamps_per_mhz:g} uA/MHz at {current.volts:g} V"
    return f"{stated}: {current.conditions} ({current.source})"


def _clock(board: Board) -> str:
    return f"{board.clock_hz / 1_000_000:g} MHz"
