"""`deploy new` creates a project folder from a model, with all files for its board and platform."""

from __future__ import annotations

import argparse
from pathlib import Path

from deploy.cli import options
from deploy.cli.console import print_answer
from deploy.devices.projects import new
from platforms.cartridge.in_firmware import VERIFIERS
from platforms.project import App

EXAMPLE = """
deploy new kws.tflite kws-firmware --board nucleo-f446re
deploy new kws.tar kws-firmware --board mps2-an386
deploy new kws.tar kws-firmware --board mps2-an386 --slots 128K --arena 64K
deploy new kws.tar listener --board mps2-an386 --app kws --class-names yes,no
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_model_or_archive(parser)
    parser.add_argument("directory", metavar="PROJECT", type=Path, help="The folder to make: new, or empty")
    parser.add_argument(
        "--app",
        metavar="APP",
        choices=[app.value for app in App],
        default=App.RPC.value,
        help=f"Program to create: {', '.join(app.value for app in App)} [rpc]. rpc serves the model over a "
        "serial line; standalone is a start for your own program; mlperf-tiny answers the runner of MLPerf "
        "Tiny; chat continues texts; transcribe turns sound into text; the others read a sensor endlessly "
        "and report what they find",
    )
    parser.add_argument(
        "--with",
        metavar="ARCHIVE",
        dest="others",
        type=Path,
        nargs="+",
        action="extend",
        default=[],
        help="More models for the same firmware; they share one arena",
    )
    parser.add_argument(
        "--functions",
        metavar="FILE.c",
        type=Path,
        nargs="+",
        action="extend",
        default=[],
        help="C files with functions (SOLDER_FUNCTION) to call by name",
    )
    parser.add_argument(
        "--line-key",
        metavar="FILE",
        type=Path,
        help="Answer only clients with this key: 32 bytes or 64 hex digits",
    )
    parser.add_argument(
        "--tokenizer",
        metavar="FILE",
        type=Path,
        help="For --app chat: the model's tokenizer.json, or tokenizer.model of SentencePiece. For --app "
        "transcribe: a file with the token of each label per line, or tokenizer.model",
    )
    sensor = options.group(parser, "Programs for a sensor")
    sensor.add_argument(
        "--class-names", metavar="NAMES", help="Class names: yes,no,... or a file with one per line"
    )
    sensor.add_argument(
        "--rate",
        metavar="HZ",
        type=options.count,
        help="Rows of numbers or pictures per second. For sound the front end has the rate",
    )
    sensor.add_argument(
        "--recording",
        metavar="FILE",
        type=Path,
        help="Play this instead of a sensor: WAV, CSV, PPM or BMP",
    )
    slots = options.group(parser, "Cartridges")
    slots.add_argument(
        "--slots", metavar="BYTES", type=options.size, help="Room for each of two cartridges: 128K"
    )
    slots.add_argument(
        "--arena", metavar="BYTES", type=options.size, help="Arena for cartridges [that of this model]"
    )
    slots.add_argument(
        "--public-key",
        metavar="KEY.pem",
        type=Path,
        help="Accept only cartridges signed with this key, of Ed25519 or P-256",
    )
    slots.add_argument(
        "--verify",
        choices=VERIFIERS,
        help="Library that verifies signatures; own: you write src/verify.c [libsodium or psa on this "
        "computer, else own]",
    )
    options.add_identity(slots)
    slots.add_argument(
        "--allow-downgrades",
        action="store_true",
        help="Accept cartridges with a smaller version than that of the running model",
    )
    slots.add_argument(
        "--kernels",
        metavar="ARCHIVE",
        type=Path,
        nargs="+",
        default=(),
        help="More archives (--tables) whose kernels tables may use",
    )
    options.add_board(parser, required=False, instead=" [that of the archive]")
    options.group(parser, options.CONNECTION).add_argument(
        "--platform",
        metavar="NAME",
        help="Platform of the board to build for [its first that this machine can build]",
    )
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    answer = new(
        arguments.model,
        arguments.directory,
        arguments.board,
        arguments.platform,
        arguments.app,
        arguments.others,
        arguments.functions,
        arguments.slots,
        arguments.arena,
        arguments.public_key,
        arguments.class_names,
        arguments.rate,
        arguments.recording,
        arguments.line_key,
        arguments.kernels,
        arguments.product,
        arguments.model_version,
        arguments.allow_downgrades,
        arguments.verify,
        arguments.tokenizer,
    )
    print_answer(arguments.json, answer)
