"""`deploy farm` offers boards of this machine to `deploy tune --farm`, or shows the status of a farm."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict

from aot.errors import InputError
from aot.wording import counted, printable
from boards.board import Board
from deploy.cli import options
from deploy.cli.console import print_result, table
from deploy.devices.buildable_boards import platform_for
from platforms.board_files import load_board
from platforms.runners.runner import ANY_BOARD, BoardSelector, choose_runner
from platforms.tuning.farm import FarmBoard, farm, farm_boards, join
from platforms.tuning.farm_credentials import credentials_file

EXAMPLE = """
deploy farm start --board mps2-an386 --boards 4
deploy farm status tls://127.0.0.1:8786
deploy farm join tls://192.168.1.5:8786 --board nucleo-f446re
"""
_LOOK_S = 1.0
_LOOPBACK = "127.0.0.1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "verb",
        choices=("start", "join", "status"),
        help="start: offer boards until Ctrl-C. join: add boards to a farm elsewhere, with a copy of its "
        "file "
        "farm.pem. status: show boards and their work",
    )
    parser.add_argument(
        "address", metavar="ADDRESS", nargs="?", help="Address of the farm, for join and status"
    )
    options.add_board(parser, required=False, instead=", for start and join")
    connection = options.group(parser, options.CONNECTION)
    connection.add_argument(
        "--boards", metavar="N", type=options.count, default=1, help="Number of boards to emulate [1]"
    )
    connection.add_argument(
        "--serial",
        metavar="NUMBER",
        action="append",
        default=[],
        help="USB serial number of a board; repeat it for each board",
    )
    connection.add_argument(
        "--host",
        metavar="NAME",
        help="Address to listen on [127.0.0.1]. For join it is the one that reaches the farm; 0.0.0.0 lets "
        "machines with the farm's credentials in",
    )
    connection.add_argument(
        "--listen-port",
        metavar="N",
        type=int,
        default=8786,
        help="Port of the scheduler; 0 takes a free one [8786]",
    )
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    {"start": _start, "join": _join, "status": _status}[arguments.verb](arguments)


def _status(arguments: argparse.Namespace) -> None:
    if arguments.address is None:
        raise InputError(
            "farm status needs the address of a farm", hint="deploy farm start prints the address"
        )
    boards = farm_boards(arguments.address)
    facts = {"farm": arguments.address, "boards": [asdict(board) for board in boards]}
    print_result(arguments.json, facts, _page(arguments.address, boards))


def _page(address: str, boards: Sequence[FarmBoard]) -> str:
    working = sum(board.jobs > 0 for board in boards)
    rows = [
        (
            printable(board.board),
            printable(board.serial),
            printable(board.worker),
            f"{board.jobs:,}",
            "" if board.has_same_code else "another version of Solder: deploy tune rejects it",
        )
        for board in boards
    ]
    shown = table(("board", "serial", "worker", "jobs", ""), rows)
    return f"{address}: {counted(len(boards), 'board')}, {working} at work\n\n{shown}"


def _start(arguments: argparse.Namespace) -> None:
    if arguments.board is None or arguments.address is not None:
        raise InputError("farm start needs a board and no address", hint="deploy farm start --board B")
    board, boards = _offered(arguments)
    with farm(board, boards, arguments.host or _LOOPBACK, arguments.listen_port) as cluster:
        try:
            facts = {"farm": cluster.scheduler_address, "board": board.name, "boards": len(boards)}
            said = "{farm}  {boards} x {board}".format_map(facts)
            print(json.dumps(facts) if arguments.json else said, flush=True)
            print(
                f"deploy tune --farm takes this address; Ctrl-C ends the farm\n"
                f"other machines need a copy of {credentials_file()}, which lets them run code here",
                file=sys.stderr,
            )
            while True:
                time.sleep(_LOOK_S)
        except KeyboardInterrupt:
            return


def _join(arguments: argparse.Namespace) -> None:
    if arguments.board is None or arguments.address is None:
        raise InputError(
            "farm join needs the address of a farm",
            hint="deploy farm join ADDRESS --board B, on each machine",
        )
    board, boards = _offered(arguments)
    with suppress(KeyboardInterrupt):
        join(board, boards, arguments.address, arguments.host)


def _offered(arguments: argparse.Namespace) -> tuple[Board, Sequence[BoardSelector]]:
    """Returns the offered board, and selectors if there are several equal ones."""
    board = load_board(arguments.board)
    platform_for(board)
    choose_runner(board)
    return board, [BoardSelector(serial) for serial in arguments.serial] or [ANY_BOARD] * arguments.boards
