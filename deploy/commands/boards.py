"""`deploy boards` lists the boards that suit, shows the facts about one, and makes one from a CMSIS pack."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aot.errors import BoardError, OutputError, did_you_mean
from aot.target import Region
from boards.board import Board
from boards.board_text import board_file, boards_table, size_text
from boards.cores import core_names
from boards.pack_index import chip_of, find_part
from deploy import options
from deploy.console import print_result, table
from platforms import PLATFORMS
from platforms.board_files import all_boards, load_board

_OF_ONE_BOARD = ("ram", "pool", "constants", "tuning_records", "force")  # the others say how --fits compiles
EXAMPLE = """
deploy boards list --core m4 --ram 64K --fits model.tflite
deploy boards show mps2-an386
deploy boards add STM32F407VG -o my.toml
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(action="list", json=False, core=None, ram=0, flash=0, platform=None, fits=None)
    parser.set_defaults(markdown=False)
    actions = parser.add_subparsers(dest="action", metavar="list | show B | search WORD | add PART")
    all_of_them = actions.add_parser("list", help="lists all boards, one per line (the default)")
    one = actions.add_parser("show", help="shows the facts about a board")
    one.add_argument("board", metavar="B", help="a board's name or file")
    for each in (parser, all_of_them):
        _add_filters(each)
    search = actions.add_parser("search", help="finds parts in the index of CMSIS packs")
    search.add_argument("word", metavar="WORD", help="a piece of the part's name, such as STM32F4")
    add = actions.add_parser("add", help="makes a board file for a part")
    add.add_argument("part", metavar="PART", help="the part's name, such as STM32F407VG")
    add.add_argument("-o", "--output", metavar="FILE.toml", type=Path, required=True, help="a new file")
    add.add_argument("--processor", metavar="P", help="which one, where the part has several")
    for each in (search, add):
        each.add_argument(
            "--pack", metavar="FILE.pdsc", type=Path, help="a pack's description to read instead of the index"
        )
    for each in (parser, all_of_them, one, search):
        # SUPPRESS: the inner parser's default must not undo what stood before its word
        each.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")


def _add_filters(parser: argparse.ArgumentParser) -> None:
    unset = argparse.SUPPRESS
    parser.add_argument(
        "--core", metavar="C", default=unset, help="only boards with this core: m4, cortex-m55, ..."
    )
    parser.add_argument(
        "--ram", metavar="BYTES", type=options.size, default=unset, help="only with this much RAM: 64K, 1M"
    )
    parser.add_argument(
        "--flash", metavar="BYTES", type=options.size, default=unset, help="only with this much flash"
    )
    parser.add_argument(
        "--platform", metavar="P", default=unset, help="only those that this platform builds for"
    )
    parser.add_argument(
        "--fits", metavar="MODEL", type=Path, default=unset, help="only those that have room for this model"
    )
    options.add_compile_options(parser, without=_OF_ONE_BOARD)
    parser.add_argument("--markdown", action="store_true", default=unset, help="print the README's table")


def run(arguments: argparse.Namespace) -> None:
    _ACTIONS[arguments.action or "list"](arguments)


def _run_show(arguments: argparse.Namespace) -> None:
    board = load_board(arguments.board)
    print_result(arguments.json, facts(board), _page(board))


def _run_list(arguments: argparse.Namespace) -> None:
    from deploy.board_filter import Wanted

    _require_known("core", arguments.core, _core_names())
    _require_known("platform", arguments.platform, PLATFORMS)
    wanted = Wanted(arguments.core, arguments.ram, arguments.flash, arguments.platform)
    boards = [board for board in all_boards() if wanted.suits(board)]
    if arguments.fits:
        _print_fits(arguments, boards)
    else:
        text = boards_table(boards).rstrip() if arguments.markdown else _list(boards)
        print_result(arguments.json, [facts(board) for board in boards], text)


def _core_names() -> tuple[str, ...]:
    """Lists the names of all cores, with and without "cortex-"."""
    names = core_names()
    return tuple(dict.fromkeys((*names, *(name.removeprefix("cortex-") for name in names))))


def _require_known(what: str, name: str | None, known: Sequence[str] | Any) -> None:
    if name is not None and name not in known:
        raise BoardError(
            f'{what} "{name}" is not known{did_you_mean(name, known)}', hint=f"known: {', '.join(known)}"
        )


def _print_fits(arguments: argparse.Namespace, boards: Sequence[Board]) -> None:
    from deploy.board_filter import fitting
    from deploy.inspect_facts import budget_facts

    fits = fitting(boards, arguments.fits, options.compile_options(arguments))
    found = [
        facts(fit.board) | {"memory": [budget_facts(budget) for budget in fit.report.budgets]} for fit in fits
    ]
    rows = [
        (
            fit.board.name,
            fit.board.core.name,
            *(f"{b.needed_bytes:,} of {b.region.bytes:,} in {b.region.name}" for b in fit.report.budgets),
        )
        for fit in fits
    ]
    text = table(("name", "core", "RAM", "flash"), rows) if rows else "no board has room for it"
    print_result(arguments.json, found, text)


def _run_search(arguments: argparse.Namespace) -> None:
    from platforms.pack_cache import search_index, search_pack

    pack = arguments.pack
    found = search_pack(arguments.word, pack) if pack else search_index(arguments.word)
    if not found:
        raise BoardError(
            f'no part has "{arguments.word}" in its name', str(pack or ""), "search for a shorter word"
        )
    rows = [(part.name, part.core, part.pack) for part in found]
    as_json = [{"part": name, "core": core, "pack": pack} for name, core, pack in rows]
    print_result(arguments.json, as_json, table(("part", "core", "pack"), rows))


def _run_add(arguments: argparse.Namespace) -> None:
    from artifact.whole_file import write_whole
    from deploy.files import require_place
    from platforms.pack_cache import part_of_index, read_pack

    output, pack = arguments.output, arguments.pack
    if output.suffix != ".toml":
        raise OutputError(
            "a board file's name ends in .toml", str(output), f"-o {output.with_suffix('.toml')}"
        )
    if output.exists():
        raise OutputError(
            "the file exists, so it is left alone", str(output), "name another file, or remove it"
        )
    require_place(output, lambda _: True, "the board file")
    part = find_part(read_pack(pack), arguments.part, str(pack)) if pack else part_of_index(arguments.part)
    chip = chip_of(part, arguments.processor)
    write_whole(output, board_file(chip).encode())
    print(f"{output}: {part.name}, {chip.core.name}, from {part.pack}\n\n{_page(load_board(str(output)))}")


_ACTIONS = {"list": _run_list, "show": _run_show, "search": _run_search, "add": _run_add}


def facts(board: Board) -> dict[str, Any]:
    """The facts about a board as JSON."""
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
        "runners": {name: dict(settings) for name, settings in board.runners.items()},
        "status": board.status.value,
        "reason": board.reason,
        "sources": list(board.sources),
    }


def _list(boards: Sequence[Board]) -> str:
    heads = ("name", "core", "RAM", "flash", "clock", "status", "what it is")
    return table(heads, [_row(board) for board in boards]) if boards else "no board is like that"


def _row(board: Board) -> tuple[str, ...]:
    target = board.target
    memory = (size_text(target.ram_bytes), size_text(target.flash_bytes))
    return (board.name, board.core.name, *memory, _clock(board), board.status.value, board.title)


def _page(board: Board) -> str:
    console = board.console
    lines = (
        ("what it is", f"{board.title} ({board.mcu})"),
        ("core", f"{board.core.name}, {_clock(board)}"),
        ("features", ", ".join(_features(board)) or "none"),
        *((region.name, _region(region)) for region in board.regions),
        *([("console", f"{console.port}, {console.baud:,} baud, {_LINES[console.line]}")] if console else []),
        *([("algorithm", board.flash_algorithm)] if board.flash_algorithm else []),
        *(("USB", f"{usb.vid:04x}:{usb.pid:04x} ({usb.role})") for usb in board.usb),
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
    """Lists the platforms, each with its own name for the board."""
    return [" ".join((platform, *names.values())) for platform, names in platforms.items()]


def _features(board: Board) -> list[str]:
    return sorted(board.features)


def _region(region: Region) -> str:
    return f"{region.role}, {region.bytes:,} bytes at {region.origin:#010x}"


def _clock(board: Board) -> str:
    return f"{board.clock_hz / 1_000_000:g} MHz"
