"""`deploy farm` offers boards of this machine to `deploy tune --farm`, here or elsewhere."""

from __future__ import annotations

import argparse
import sys
import time

from deploy import options
from deploy.supported import platform_for
from platforms.board_files import load_board
from platforms.runners.runner import ANY_BOARD, BoardSelector, choose_runner
from platforms.tuning.farm import farm

EXAMPLE = """
deploy farm start --board mps2-an386 --boards 4
"""
_LOOK_S = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("verb", choices=("start",), help="start: offers boards until Ctrl-C")
    options.add_board(parser)
    parser.add_argument(
        "--boards", metavar="N", type=options.count, default=1, help="number of boards to emulate"
    )
    parser.add_argument(
        "--serial",
        metavar="NUMBER",
        action="append",
        default=[],
        help="the serial number of a board on USB; repeat it for each board",
    )
    parser.add_argument(
        "--host",
        metavar="NAME",
        default="127.0.0.1",
        help="the address to listen on; 0.0.0.0 is open to all machines",
    )
    parser.add_argument(
        "--port", metavar="N", type=int, default=8786, help="the port of the scheduler; 0 takes a free one"
    )


def run(arguments: argparse.Namespace) -> None:
    board = load_board(arguments.board)
    platform_for(board)
    choose_runner(board)
    boards = [BoardSelector(serial) for serial in arguments.serial] or [ANY_BOARD] * arguments.boards
    with farm(board, boards, arguments.host, arguments.port) as cluster:
        try:
            print(f"{cluster.scheduler_address}  {len(boards)} x {board.name}", flush=True)
            print("deploy tune --farm takes this address; Ctrl-C ends the farm", file=sys.stderr)
            while True:
                time.sleep(_LOOK_S)
        except KeyboardInterrupt:
            return
