"""Formats boards: a part of a CMSIS pack as a board file, all boards as a Markdown table. No side effects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from aot.target import MemoryRegion
from boards.board import Board
from boards.pack_index import Chip

_HEADS = ("board", "what it is", "core", "RAM", "flash", "platforms", "status")


def board_file(chip: Chip) -> str:
    """Returns a loadable board file with all facts from the pack; the user adds platforms."""
    return "\n".join(_lines(chip))


def _lines(chip: Chip) -> Iterator[str]:
    part = chip.part
    yield f"# {part.name}, as its CMSIS pack describes it. Add the board's own facts: console, platforms."
    yield f"title = {_text(part.name)}"
    yield f"mcu = {_text(part.name)}"
    yield f"core = {_text(chip.core.name)}"
    if chosen := sorted(chip.features - chip.core.has):
        yield f"features = [{', '.join(map(_text, chosen))}]"
    yield f"clock_hz = {chip.clock_hz:_}"
    yield 'status = "data-only"'
    yield 'reason = "made from a pack: no platform is named yet"'
    yield f"sources = [{_text(f'CMSIS pack {part.pack}')}]"
    if chip.algorithm:
        yield f"flash_algorithm = {_text(chip.algorithm)}"
    for region in chip.regions:
        yield from _region(region)
    yield from ("", *_counter(chip), "", "[runners.pyocd]", f"target = {_text(part.name.lower())}", "")


def _region(region: MemoryRegion) -> Iterator[str]:
    yield from ("", "[[regions]]")
    yield f"name = {_text(region.name)}"
    yield f"origin = {region.origin:#x}"
    yield f"bytes = {region.bytes:#x}"
    yield f"role = {_text(region.role)}"
    if region.speed:
        yield f"speed = {region.speed}  # the pack does not use it unless asked"


def _counter(chip: Chip) -> Iterator[str]:
    counter = chip.core.counter
    if counter is None:
        return
    yield "[counter]"
    yield f"driver = {_text(counter.driver)}"
    yield f"hz = {chip.clock_hz:_}"
    yield f"bits = {counter.bits}"


def _text(value: str) -> str:
    """Quotes a text as JSON, which is valid TOML."""
    return json.dumps(value, ensure_ascii=False)


def boards_table(boards: Sequence[Board]) -> str:
    """Returns a Markdown table with one row per board."""
    rows = (_HEADS, tuple("---" for _ in _HEADS), *(_row(board) for board in boards))
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(board: Board) -> tuple[str, ...]:
    return (
        f"`{board.name}`",
        board.title,
        board.core.name,
        size_text(board.target.ram_bytes),
        size_text(board.target.flash_bytes),
        ", ".join(board.platforms) or "-",
        board.status.value,
    )


def size_text(count: int) -> str:
    """Formats a number of bytes, for example as 256 KiB."""
    unit, name = (1 << 20, "MiB") if count >= 1 << 20 else (1 << 10, "KiB")
    return f"{round(count / unit, 2):g} {name}"
