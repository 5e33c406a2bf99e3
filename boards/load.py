"""Finds a board by name and reads its TOML file strictly. Custom board files work like the included ones."""

from __future__ import annotations

import difflib
import itertools
import re
from collections import Counter as Counts
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from aot.errors import BoardFileError, DeployError, UnknownBoardError, did_you_mean
from aot.target import Feature, MemoryRegion
from boards.board import Board, BoardStatus, Console, Counter, RunCurrent, Uart, UsbId
from boards.board_keys import Sections, board_keys
from boards.cores import Core, core_names, load_core
from boards.files import OURS, file_names, find_file, is_there, read_toml
from boards.flash_access import flash_access
from boards.schema import FilePlace, read_table
from boards.second_core import SecondCore

_PARTS = re.compile("[:/@]")
_WORDS = re.compile(r"[^\W_]+")  # parts of a user's spelling of a board
_MOST_SUGGESTED = 3
_LEAST_LETTERS = 3  # required in at least one part for a search


def load_board(name: str, sections: Sections) -> Board:
    """Returns the board with this name, or the one described by this TOML file."""
    if name.endswith(".toml"):
        return _read_board(Path(name), sections)
    if not name:  # for example, from an unset variable in a script
        raise UnknownBoardError("the board's name is empty", hint="list them with: deploy boards list")
    file = find_file(name)
    if file is not None:
        return _read_board(file, sections)
    raise UnknownBoardError(
        f'board "{name}" not found{_nearest(name, sections)}',
        hint="\n".join(
            (
                *([f"a core without a board: --target {name}"] if name in core_names() else []),
                "list them with: deploy boards list",
                f"for your own board: boards/{name}.toml, or --board FILE.toml",
                *(f"ignored: {_line_of(error)}" for error in broken_boards(sections)),
            )
        ),
    )


def _nearest(name: str, sections: Sections) -> str:
    """Suggests boards whose name, chip, core, title or platform names resemble `name`.

    Users type nucleo_f746zg, nano33ble, uno r4, f407 or esp32 s3; platforms have names like xiao_ble.
    """
    meant = boards_like(name, sections)
    *others, last = (f'"{each}"' for each in meant or [""])
    return f" - did you mean {', '.join(others)}{' or ' if others else ''}{last}?" if meant else ""


def boards_like(name: str, sections: Sections) -> list[str]:
    """Returns a few boards that the name may mean, the likeliest first."""
    boards = all_boards(sections)
    return (_described_by(name, boards) or _nearly_called(name, boards))[:_MOST_SUGGESTED]


def _nearly_called(name: str, boards: Sequence[Board]) -> list[str]:
    """Returns the boards whose name or chip differs from `name` by a few letters."""
    called = [(_letters(spelling), board.name) for board in boards for spelling in _spellings(board)]
    known_to = Counts(spelling for spelling, _ in called)
    spellings = {spelling: [board] for spelling, board in called if known_to[spelling] == 1}
    for board in boards:
        spellings.setdefault(_letters(board.mcu), []).append(board.name)
    spellings |= {_letters(board.name): [board.name] for board in boards}
    near = difflib.get_close_matches(_letters(name), spellings, n=1)
    return spellings[near[0]] if near else []


def _described_by(name: str, boards: Iterable[Board]) -> list[str]:
    """Returns the boards whose texts contain all parts of `name`, matches in the board's name first."""
    words = [_letters(word) for word in _WORDS.findall(name)]
    if not any(len(word) >= _LEAST_LETTERS for word in words):
        return []
    found = []
    for board in boards:
        texts = list(map(_letters, (board.name, board.mcu, board.title, board.core.name, *_spellings(board))))
        places = [next((n for n, text in enumerate(texts) if word in text), None) for word in words]
        if None not in places:
            begins = texts[0].startswith(_letters(name))
            found.append((sum(place or 0 for place in places), not begins, len(board.name), board.name))
    return [name for *_, name in sorted(found)]


def _spellings(board: Board) -> set[str]:
    """Returns platforms' names of the board and their parts: "bluepill" of "stm32duino:stm32:bluepill"."""
    said = [text for table in board.platforms.values() for text in table.values()]
    return {part for text in said for part in (text, *_PARTS.split(text))} - {""}


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def all_boards(sections: Sections) -> tuple[Board, ...]:
    """Returns every loadable board, sorted by name. See `broken_boards` for the errors of the rest."""
    return tuple(board for board in _read_all(sections) if isinstance(board, Board))


def broken_boards(sections: Sections) -> tuple[DeployError, ...]:
    """Returns the errors of board files that all_boards skips."""
    return tuple(error for error in _read_all(sections) if isinstance(error, DeployError))


def _line_of(error: DeployError) -> str:
    return ": ".join((*error.where.splitlines()[:1], error.what.splitlines()[0]))


def _read_all(sections: Sections) -> Iterator[Board | DeployError]:
    for name in board_names():
        try:
            yield load_board(name, sections)
        except DeployError as error:  # concerns only this file
            yield error


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
            "run_current": values["run_current"] and RunCurrent(**values["run_current"]),
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
    """Reads the keys that boards with the same chip share. The board's keys override them."""
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
    """Raises BoardError if facts of the board contradict each other."""
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
    """Raises one error that lists everything the board's platforms and runners need and its file lacks."""
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
