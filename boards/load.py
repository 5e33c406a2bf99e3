"""Finds a board by name and reads its TOML file strictly; a board file of the user's own works like ours."""

from __future__ import annotations

import difflib
import itertools
import re
from collections import Counter as Counts
from pathlib import Path
from typing import Any

from aot.errors import BoardFileError, UnknownBoardError, did_you_mean
from aot.target import Feature, MemoryRegion
from boards.board import Board, BoardStatus, Console, Counter, Uart, UsbId
from boards.board_keys import Sections, board_keys
from boards.cores import Core, load_core
from boards.files import OURS, file_names, find_file, is_there, read_toml
from boards.flash_access import flash_access
from boards.schema import FilePlace, read_table
from boards.second_core import SecondCore

_PARTS = re.compile("[:/@]")


def load_board(name: str, sections: Sections) -> Board:
    """The board of that name, or described by that TOML file."""
    if name.endswith(".toml"):
        return _read_board(Path(name), sections)
    if not name:  # of a variable that a script has not set
        raise UnknownBoardError("the board's name is empty", hint="deploy boards list   names them all")
    file = find_file(name)
    if file is not None:
        return _read_board(file, sections)
    raise UnknownBoardError(
        f'board "{name}" not found{_nearest(name, sections)}',
        hint=f"deploy boards list   names them all\nyour own: boards/{name}.toml, or --board FILE.toml",
    )


def _nearest(name: str, sections: Sections) -> str:
    """Suggests the board that is meant: people write nucleo_f746zg or nano33ble, platforms xiao_ble."""
    boards = all_boards(sections)
    called = [(_letters(spelling), board.name) for board in boards for spelling in _spellings(board)]
    known_to = Counts(spelling for spelling, _ in called)
    spellings = {spelling: board for spelling, board in called if known_to[spelling] == 1}
    spellings |= {_letters(board.name): board.name for board in boards}
    near = difflib.get_close_matches(_letters(name), spellings, n=1)
    return f' - did you mean "{spellings[near[0]]}"?' if near else ""


def _spellings(board: Board) -> set[str]:
    """The names that platforms have for it, and their parts: "bluepill" of "stm32duino:stm32:bluepill"."""
    said = [text for table in board.platforms.values() for text in table.values()]
    return {part for text in said for part in (text, *_PARTS.split(text))} - {""}


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def all_boards(sections: Sections) -> tuple[Board, ...]:
    """Every board that load_board finds by name, sorted by name."""
    return tuple(load_board(name, sections) for name in board_names())


def board_names() -> tuple[str, ...]:
    return file_names()


def _read_board(file: Path, sections: Sections) -> Board:
    table = read_toml(file, "board file")
    soc = table.pop("soc", None)
    if soc is not None:
        table = _read_soc(soc, file) | table
    place = FilePlace(str(file))
    values = read_table(table, board_keys(sections), place)
    counter = values.pop("counter")
    core = load_core(values["core"], str(place))
    _check_features(core, values["features"], place)
    board = Board(
        name=file.stem,
        own_counter=Counter(**counter) if counter else None,
        **values
        | {
            "title": values["title"] or file.stem,
            "core": core,
            "features": core.has | values["features"],
            "regions": tuple(MemoryRegion(**region) for region in values["regions"]),
            "flash_access": values["flash_access"] and flash_access(values["flash_access"]),
            "uart": values["uart"] and Uart(**values["uart"]),
            "console": values["console"] and Console(**values["console"]),
            "second_core": values["second_core"] and _second_core(values["second_core"], place),
            "usb": tuple(UsbId(**usb) for usb in values["usb"]),
            "status": BoardStatus(values["status"]),
        },
    )
    _check(board, place)
    _require_enough(board, sections, place)
    return board


def _second_core(values: dict[str, Any], place: FilePlace) -> SecondCore:
    core, inside = load_core(values["core"], str(place)), place.inside("second_core")
    _check_features(core, values["features"], inside)
    if not values["start"] and values["shares_memory"] and not values["reason"]:
        raise BoardFileError('a second core without "start" needs a "reason"', str(inside))
    return SecondCore(**values | {"features": core.has | values["features"]})


def _read_soc(soc: object, file: Path) -> dict[str, Any]:
    """Reads the keys that a board shares with others of its chip; the board's own keys override them."""
    folders = (file.parent / "soc", OURS / "soc")
    for folder in folders:
        if is_there(folder / f"{soc}.toml"):
            return read_toml(folder / f"{soc}.toml", "soc file")
    known = sorted({found.stem for folder in folders for found in folder.glob("*.toml")})
    raise BoardFileError(
        f'soc "{soc}" not found{did_you_mean(str(soc), known)}', str(file), f"known: {', '.join(known)}"
    )


def _check_features(core: Core, chosen: frozenset[Feature], place: FilePlace) -> None:
    foreign = sorted(chosen - core.has - core.can_have)
    if foreign:
        raise BoardFileError(f"a {core.name} has no {', '.join(foreign)}", str(place))


def _check(board: Board, place: FilePlace) -> None:
    """Raises BoardError where facts of the board contradict each other."""
    for role in ("flash", "ram"):
        if not any(region.role == role for region in board.regions):
            raise BoardFileError(f'no region has role = "{role}"', str(place))
    counter = board.own_counter
    if counter and counter.driver == "register" and counter.address is None:
        raise BoardFileError(
            'a counter with driver = "register" needs "address"', str(place.inside("counter"))
        )
    _check_overlap(board, place)


def _require_enough(board: Board, sections: Sections, place: FilePlace) -> None:
    """Raises one error for everything that the board's platforms and runners need and its file lacks."""
    named = (
        ("platform", board.platforms, sections.platforms),
        ("runner", board.runners, sections.runners),
    )
    lacks = [
        f"the {kind} {name} needs {what}"
        for kind, tables, known in named
        for name in tables
        for what in known[name].lacks(board)
    ]
    if len(lacks) == 1:
        raise BoardFileError(lacks[0], str(place))
    if lacks:
        raise BoardFileError(f"{len(lacks)} things are missing", "\n".join((str(place), *lacks)))


def _check_overlap(board: Board, place: FilePlace) -> None:
    ordered = sorted(board.regions, key=lambda region: region.origin)
    for low, high in itertools.pairwise(ordered):
        if low.origin + low.bytes > high.origin:
            raise BoardFileError(
                f"regions {low.name} and {high.name} overlap: {low.name} ends at "
                f"{low.origin + low.bytes:#x}, {high.name} starts at {high.origin:#x}",
                str(place),
            )
