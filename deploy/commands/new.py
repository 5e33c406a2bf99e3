"""`deploy new` makes a project folder of an archive, with everything that its board and platform need."""

from __future__ import annotations

import argparse
from pathlib import Path

from deploy import options
from deploy.console import print_answer
from deploy.projects import new
from platforms.project import App

EXAMPLE = """
deploy new kws.tar kws-firmware --board mps2-an386
deploy new kws.tar kws-firmware --board mps2-an386 --slots 128K --arena 64K
deploy new kws.tar listener --board mps2-an386 --app kws --labels yes,no
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
        help="rpc serves the model over the line (the default); standalone is a start for your own program; "
        "the others take a sensor's rows without end and tell what they find",
    )
    parser.add_argument(
        "--with",
        metavar="OUT.tar",
        dest="others",
        type=Path,
        nargs="+",
        action="extend",
        default=[],
        help="archives of further models for the same firmware; they share one arena, the largest",
    )
    parser.add_argument(
        "--functions",
        metavar="FILE.c",
        type=Path,
        nargs="+",
        action="extend",
        default=[],
        help="C files (and their headers) whose functions (SOLDER_FUNCTION) are called by name",
    )
    sensor = parser.add_argument_group("programs for a sensor")
    sensor.add_argument(
        "--labels", metavar="NAMES", help="class names: yes,no,... or a file with one per line"
    )
    sensor.add_argument(
        "--rate",
        metavar="HZ",
        type=options.count,
        help="rows of numbers or pictures a second; the rate of sound is its front end's",
    )
    sensor.add_argument(
        "--recording",
        metavar="FILE",
        type=Path,
        help="played in place of a sensor: sound (WAV), numbers (CSV) or pictures (PPM, BMP)",
    )
    slots = parser.add_argument_group("cartridges, which replace the model while the firmware runs")
    slots.add_argument(
        "--slots", metavar="SIZE", type=options.size, help="room for each of two cartridges: 128K"
    )
    slots.add_argument(
        "--arena",
        metavar="SIZE",
        type=options.size,
        help="arena for their models (default: this model's arena)",
    )
    slots.add_argument(
        "--public-key",
        metavar="KEY.pem",
        type=Path,
        help="accept only cartridges signed with its private key; the program supplies solder_port_verify",
    )
    options.add_identity(slots)
    slots.add_argument(
        "--allow-downgrades",
        action="store_true",
        help="accept cartridges with a smaller version than that of the model that runs",
    )
    slots.add_argument(
        "--kernels",
        metavar="OUT.tar",
        type=Path,
        nargs="+",
        default=(),
        help="more archives (deploy compile --tables) whose kernels tables may use",
    )
    parser.add_argument(
        "--line-key",
        metavar="FILE",
        type=Path,
        help="answer only clients that have this key: 32 bytes, or 64 hexadecimal digits",
    )
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    answer = new(
        arguments.archive,
        arguments.directory,
        arguments.board,
        arguments.platform,
        arguments.app,
        arguments.others,
        arguments.functions,
        arguments.slots,
        arguments.arena,
        arguments.public_key,
        arguments.labels,
        arguments.rate,
        arguments.recording,
        arguments.line_key,
        arguments.kernels,
        arguments.product,
        arguments.model_version,
        arguments.allow_downgrades,
    )
    print_answer(arguments.json, answer)
