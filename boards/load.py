"""Finds a board by name and reads its TOML file strictly; a board file of the user's own works like ours."""

from __future__ import annotations

import difflib
import itertools
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aot.errors import BoardError, did_you_mean
from aot.target import Region
from boards.board import Board, Console, Counter, Status, Uart, UsbId
from boards.schema import BOARD, CORES, Place, read_table

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_OURS = Path(__file__).parent


def load_board(name: str) -> Board:
    """The board of that name, or described by that TOML file."""
    if name.endswith(".toml"):
        return _read_board(Path(name))
    if not name:  # of a variable that a script has not set
        raise BoardError("the board's name is empty", hint="deploy boards list   names them all")
    for folder in _folders():
        if (folder / f"{name}.toml").is_file():
            return _read_board(folder / f"{name}.toml")
    raise BoardError(
        f'board "{name}" not found{_nearest(name)}',
        hint=f"deploy boards list   names them all\nyour own: boards/{name}.toml, or --board FILE.toml",
    )


def _nearest(name: str) -> str:
    """People write names in many ways (nucleo_f746zg, nano33ble), or as a platform does (xiao_ble)."""
    spellings = {_squeezed(spelling): board.name for board in all_boards() for spelling in _spellings(board)}
    near = difflib.get_close_matches(_squeezed(name), spellings, n=1)
    return f' - did you mean "{spellings[near[0]]}"?' if near else ""


def _spellings(board: Board) -> Iterator[str]:
    """The board's own name comes last: it counts most."""
    zephyr = board.platforms.get("zephyr", {}).get("board", "")
    arduino = board.platforms.get("arduino", {}).get("fqbn", "::")
    yield from (zephyr, zephyr.partition("/")[0], arduino.split(":")[2], board.name)


def _squeezed(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def all_boards() -> tuple[Board, ...]:
    """Every board that load_board finds by name, sorted by name."""
    return tuple(load_board(name) for name in board_names())


def board_names() -> tuple[str, ...]:
    return tuple(sorted({file.stem for folder in _folders() for file in folder.glob("*.toml")}))


def _folders() -> Iterator[Path]:
    """Where boards are looked for, first come first served: the user's own go before ours."""
    yield Path("boards")
    yield config_folder() / "boards"
    yield _OURS


def config_folder() -> Path:
    """The user's settings of this program, by the custom of the system."""
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home()) / "solder"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "solder"


def _read_board(file: Path) -> Board:
    table = _read_toml(file)
    soc = table.pop("soc", None)
    if soc is not None:
        table = _read_soc(soc, file) | table
    place = Place(str(file))
    values = read_table(table, BOARD, place)
    board = Board(
        name=file.stem,
        **values
        | {
            "regions": tuple(Region(**region) for region in values["regions"]),
            "uart": values["uart"] and Uart(**values["uart"]),
            "console": values["console"] and Console(**values["console"]),
            "usb": tuple(UsbId(**usb) for usb in values["usb"]),
            "counter": Counter(**values["counter"]),
            "status": Status(values["status"]),
        },
    )
    _check(board, place)
    return board


def _read_soc(soc: object, file: Path) -> dict[str, Any]:
    """What a board shares with others of its chip; the board's own keys go before it."""
    folders = (file.parent / "soc", _OURS / "soc")
    for folder in folders:
        if (folder / f"{soc}.toml").is_file():
            return _read_toml(folder / f"{soc}.toml")
    known = sorted({found.stem for folder in folders for found in folder.glob("*.toml")})
    raise BoardError(
        f'soc "{soc}" not found{did_you_mean(str(soc), known)}', str(file), f"known: {', '.join(known)}"
    )


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        table: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BoardError(f"not a TOML file: {error}", str(file)) from error
    except OSError as error:
        raise BoardError(f"board file cannot be read: {error.strerror}", str(file)) from error
    return table


def _check(board: Board, place: Place) -> None:
    """Facts that must agree with each other."""
    foreign = sorted(f.value for f in board.features - CORES[board.core])
    if foreign:
        raise BoardError(f"a {board.core} has no {', '.join(foreign)}", str(place))
    for role in ("flash", "ram"):
        if not any(region.role == role for region in board.regions):
            raise BoardError(f'no region has role = "{role}"', str(place))
    if board.counter.driver == "register" and board.counter.address is None:
        raise BoardError('a counter with driver = "register" needs "address"', str(place.inside("counter")))
    if board.status is Status.DATA_ONLY and not board.reason:
        raise BoardError('a board that is "data-only" needs a "reason"', str(place))
    if "baremetal" in board.platforms and board.uart is None:
        raise BoardError("the platform baremetal needs a table [uart]", str(place))
    _check_overlap(board, place)


def _check_overlap(board: Board, place: Place) -> None:
    ordered = sorted(board.regions, key=lambda region: region.origin)
    for low, high in itertools.pairwise(ordered):
        if low.origin + low.bytes > high.origin:
            raise BoardError(
                f"regions {low.name} and {high.name} overlap: {low.name} ends at "
                f"{low.origin + low.bytes:#x}, {high.name} starts at {high.origin:#x}",
                str(place),
            )
