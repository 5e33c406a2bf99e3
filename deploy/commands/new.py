"""`deploy new` makes a project folder of an archive, with everything that its board and platform need."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from artifact.archive import read_archive
from deploy import options
from deploy.console import print_result
from deploy.firmware import source_for
from deploy.supported import platform_for
from platforms.board_files import load_board
from platforms.project import App, share_firmware

EXAMPLE = """
deploy new kws.tar kws-firmware --board mps2-an386
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("archive", metavar="OUT.tar", type=Path, help="an archive, made by deploy compile")
    parser.add_argument("directory", metavar="DIR", type=Path, help="the project's folder: new, or empty")
    options.add_board(parser)
    parser.add_argument("--platform", metavar="NAME", help="one of the board's platforms; else its first")
    parser.add_argument(
        "--app",
        choices=[app.value for app in App],
        default=App.RPC.value,
        help="rpc serves the model over the line (the default); standalone is a start for your own program",
    )
    parser.add_argument(
        "--with",
        metavar="OUT.tar",
        dest="others",
        type=Path,
        nargs="+",
        default=(),
        help="archives of further models for the same firmware; they share one arena, the largest",
    )
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    archive, *others = (read_archive(path) for path in (arguments.archive, *arguments.others))
    board = load_board(arguments.board)
    platform = platform_for(board, arguments.platform)
    source = share_firmware(source_for(archive, board), [source_for(other, board) for other in others])
    platform.generate(source, arguments.directory, board, App(arguments.app))
    facts = {
        "directory": str(arguments.directory),
        "model": archive.name,
        "models": source.models,
        "board": board.name,
        "platform": platform.name,
        "app": arguments.app,
    }
    text = (
        f"{arguments.directory}: {', '.join(source.models)} for {board.name}, "
        f"platform {platform.name}, app {arguments.app}\n"
        f"  next: deploy build {shlex.quote(str(arguments.directory))}"
    )
    print_result(arguments.json, facts, text)
