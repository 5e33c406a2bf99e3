"""`deploy boards` lists suitable boards, shows one of them, and creates one from a CMSIS pack."""

from __future__ import annotations

import argparse
from pathlib import Path

from aot.errors import BoardError, OutputError
from boards.board_text import board_file
from boards.pack_index import chip_of, find_part
from deploy.cli import options
from deploy.cli.console import print_answer, print_error, print_result, table
from deploy.cli.docs_pages import shown
from deploy.devices.board_filter import Wanted
from deploy.devices.board_pages import OF_ONE_BOARD, board_page, boards_that_suit, one_board
from platforms.board_files import broken_boards, load_board

EXAMPLE = """
deploy boards list --core m4 --min-ram 64K --fits model.tflite
deploy boards show mps2-an386
deploy boards add STM32F407VG -o my.toml
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(action="list", json=False, core=None, ram=0, flash=0, platform=None, fits=None)
    parser.set_defaults(markdown=False)
    actions = parser.add_subparsers(dest="action", metavar="list | show B | search WORD | add PART")
    all_of_them = actions.add_parser("list", help="List all boards, one per line (the default)")
    one = actions.add_parser("show", help="Show the facts about a board")
    one.add_argument("board", metavar="B", help="Board name or file")
    for each in (parser, all_of_them):
        _add_filters(each)
    search = actions.add_parser("search", help="Find parts in the index of CMSIS packs")
    search.add_argument("word", metavar="WORD", help="Piece of the part's name, such as STM32F4")
    add = actions.add_parser("add", help="Make a board file for a part")
    add.add_argument("part", metavar="PART", help="Name of the part, such as STM32F407VG")
    options.add_output(add, "FILE.toml", "A new file", required=True)
    add.add_argument("--processor", metavar="P", help="Which processor, if the part has several")
    for each in (search, add):
        each.add_argument(
            "--pack", metavar="FILE.pdsc", type=Path, help="Read this pack description instead of the index"
        )
    for each in (parser, all_of_them, one, search):
        # SUPPRESS: the subparser's default must not override an option before the verb
        options.group(each, options.GENERAL).add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help="Print JSON"
        )


def _add_filters(parser: argparse.ArgumentParser) -> None:
    unset, filters = argparse.SUPPRESS, options.group(parser, "Filters")
    filters.add_argument("--core", metavar="C", default=unset, help="This core: m4, cortex-m55, ...")
    filters.add_argument(
        "--min-ram",
        metavar="BYTES",
        dest="ram",
        type=options.size,
        default=unset,
        help="At least this RAM: 64K, 1M",
    )
    filters.add_argument(
        "--min-flash",
        metavar="BYTES",
        dest="flash",
        type=options.size,
        default=unset,
        help="At least this flash",
    )
    filters.add_argument(
        "--has-platform",
        metavar="P",
        dest="platform",
        default=unset,
        help="Built by this platform: zephyr, arduino, ...",
    )
    filters.add_argument(
        "--fits", metavar="MODEL", type=Path, default=unset, help="Large enough for this model"
    )
    filters.add_argument("--markdown", action="store_true", default=unset, help="Print a Markdown table")
    options.add_compile_options(parser, without=OF_ONE_BOARD)


def run(arguments: argparse.Namespace) -> None:
    _ACTIONS[arguments.action or "list"](arguments)


def _run_show(arguments: argparse.Namespace) -> None:
    print_answer(arguments.json, one_board(arguments.board))


def _run_list(arguments: argparse.Namespace) -> None:
    wanted = Wanted(arguments.core, arguments.ram, arguments.flash, arguments.platform)
    chosen = options.compile_options(arguments)
    print_answer(arguments.json, boards_that_suit(wanted, arguments.fits, chosen, arguments.markdown))
    for error in broken_boards():
        print_error(shown(error))


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
    from deploy.inputs.result_paths import require_place
    from platforms.pack_cache import part_of_index, read_pack

    output, pack = arguments.output, arguments.pack
    if output.suffix != ".toml":
        raise OutputError(
            "a board file's name ends in .toml", str(output), f"-o {output.with_suffix('.toml')}"
        )
    if output.exists():
        raise OutputError(
            "the file exists and is not overwritten", str(output), "name another file, or remove it"
        )
    require_place(output, lambda _: True, "the board file")
    part = find_part(read_pack(pack), arguments.part, str(pack)) if pack else part_of_index(arguments.part)
    chip = chip_of(part, arguments.processor)
    write_whole(output, board_file(chip).encode())
    print(
        f"{output}: {part.name}, {chip.core.name}, from {part.pack}\n\n{board_page(load_board(str(output)))}"
    )


_ACTIONS = {"list": _run_list, "show": _run_show, "search": _run_search, "add": _run_add}
