"""Options that several commands share, each written once."""

from __future__ import annotations

import argparse
from pathlib import Path

_UNITS = {"": 1, "K": 1024, "M": 1024 * 1024}


def size(text: str) -> int:
    """Bytes as people write them: 65536, 64K, 1M."""
    digits, unit = (text[:-1], text[-1].upper()) if text[-1:].isalpha() else (text, "")
    if not digits.isdecimal() or unit not in _UNITS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 65536, 64K or 1M")
    return int(digits) * _UNITS[unit]


def count(text: str) -> int:
    """A number of times: 1 or more."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 1 or more")
    return int(text)


def add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", type=Path, help="a .tflite file")


def add_project(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", metavar="DIR", type=Path, help="a project folder, made by deploy new")


def add_board(parser: argparse.ArgumentParser, required: bool = True, instead: str = "") -> None:
    help_text = "a board's name, as in deploy boards, or a board file"
    parser.add_argument("--board", metavar="B", required=required, help=f"{help_text}{instead}")


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def add_compile_options(parser: argparse.ArgumentParser) -> None:
    """--ram, --optimize, --rounding, --exact, --stream: what deploy.settings.compile_options reads."""
    parser.add_argument("--ram", metavar="BYTES", type=size, help="the arena's limit: 65536, 64K, 1M")
    parser.add_argument(
        "--optimize", choices=("speed", "size", "ram"), default="speed", help="what to spend the others for"
    )
    parser.add_argument(
        "--rounding",
        choices=("tflm", "litert-ref"),
        default="tflm",
        help="whose bits to give: TFLite Micro's (the default) or those of LiteRT's reference kernels",
    )
    parser.add_argument(
        "--exact",
        action="store_true",
        help="let a solver improve the placement in the arena, or prove that none is smaller",
    )
    parser.add_argument(
        "--stream",
        action="store_true",
        help="take the input row by row: it need not exist as a whole",
    )


def add_toolchain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--toolchain", metavar="NAME", help="a compiler, as in deploy doctor; else the first found"
    )


def add_runner(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--runner", metavar="NAME", help="what runs the firmware; else the board's first found here"
    )


def add_where(parser: argparse.ArgumentParser) -> None:
    """--serial and --port: which of several boards."""
    parser.add_argument(
        "--serial", metavar="NUMBER", help="the board, or its debug probe, with this serial number on the USB"
    )
    parser.add_argument("--port", metavar="PORT", help="the board's serial port, such as /dev/ttyACM0")


def add_line(parser: argparse.ArgumentParser) -> None:
    """--runner, --serial, --port and --trace: how the board is reached."""
    add_runner(parser)
    add_where(parser)
    parser.add_argument(
        "--trace", metavar="FILE", type=Path, help="write every packet on the line to this file"
    )


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dry-run", action="store_true", help="print the command lines instead of running them"
    )
