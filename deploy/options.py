"""Options that several commands share, each written once."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from platforms.patience import RUN_S

_UNITS = {"": 1, "K": 1024, "M": 1024 * 1024}


def size(text: str) -> int:
    """Bytes as people write them: 65536, 64K, 1M."""
    digits, unit = (text[:-1], text[-1].upper()) if text[-1:].isalpha() else (text, "")
    if not digits.isdecimal() or unit not in _UNITS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 65536, 64K or 1M")
    return int(digits) * _UNITS[unit]


def pool(text: str) -> tuple[str, int | None]:
    """DTCM or DTCM=64K"""
    name, is_limited, limit = text.partition("=")
    if not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not a memory with its limit, such as DTCM=64K")
    return name, size(limit) if is_limited else None


def placed_layers(text: str) -> tuple[str, str]:
    """dense=QSPI"""
    layers, _, region = text.rpartition("=")
    if not layers or not region:
        raise argparse.ArgumentTypeError(f"{text!r} is not layers with a memory, such as dense=QSPI")
    return layers, region


def named_sizes(text: str) -> tuple[str, tuple[int, ...]]:
    """x=1,3,32,32"""
    name, _, sizes = text.rpartition("=")
    parts = sizes.split(",")
    if not name or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not an input with its sizes, such as x=1,3,32,32")
    return name, tuple(int(part) for part in parts)


def named_numbers(text: str) -> tuple[str, tuple[float, ...]]:
    """axes=0,1"""
    name, _, numbers = text.rpartition("=")
    try:
        found = tuple(float(part) for part in numbers.split(","))
    except ValueError:
        found = ()
    if not name or not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not an input with its value, such as axes=0,1")
    return name, found


def count(text: str) -> int:
    """A number of times: 1 or more."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 1 or more")
    return int(text)


def seconds(text: str) -> float:
    """A stretch of time: more than none, and not for ever."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 < found < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds, such as 120 or 0.5")
    return found


def add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", type=Path, help="a .tflite or .onnx file")


def add_project(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", metavar="DIR", type=Path, help="a project folder, made by deploy new")


def add_board(parser: argparse.ArgumentParser, required: bool = True, instead: str = "") -> None:
    help_text = "a board's name, as in deploy boards, or a board file"
    parser.add_argument("--board", metavar="B", required=required, help=f"{help_text}{instead}")


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def add_tuning_records(parser: argparse.ArgumentParser) -> None:
    """What deploy.settings.tuning_records reads."""
    parser.add_argument(
        "--tuning-records",
        metavar="FILE",
        type=Path,
        help="what deploy tune wrote: the fastest knobs are used",
    )


def add_compile_options(parser: argparse.ArgumentParser) -> None:
    """What deploy.settings.compile_options reads: from --ram to --value."""
    parser.add_argument("--ram", metavar="BYTES", type=size, help="the arena's limit: 65536, 64K, 1M")
    parser.add_argument(
        "--optimize", choices=("speed", "size", "ram"), default="speed", help="what to spend the others for"
    )
    parser.add_argument(
        "--rounding",
        choices=("tflm", "litert-ref", "onnx"),
        default="tflm",
        help="whose bits to give: TFLite Micro's (the default), those of LiteRT's reference kernels, or for "
        "ONNX models ONNX Runtime's, which take longer",
    )
    parser.add_argument(
        "--exact",
        action="store_true",
        help="let a solver improve the placement in the arena, or prove that none is smaller",
    )
    parser.add_argument(
        "--pool",
        metavar="REGION[=BYTES]",
        type=pool,
        action="append",
        default=[],
        help="spread the arena over these memories of the board, what is used most in the fastest; "
        "without it that is done where the fastest is too small",
    )
    parser.add_argument(
        "--constants",
        metavar="LAYERS=REGION",
        type=placed_layers,
        action="append",
        default=[],
        help="put the constants of some layers into a memory of the board: conv2d=ITCM, layer3=QSPI, *=DTCM",
    )
    parser.add_argument(
        "--stream",
        action="store_true",
        help="take the input row by row: it need not exist as a whole",
    )
    parser.add_argument(
        "--io",
        choices=("arena", "caller"),
        default="arena",
        help="whether the arena has room for inputs and outputs, which the run then may write over, or they "
        "stay in memory of your own, such as a camera's",
    )
    _add_given(parser)


def _add_given(parser: argparse.ArgumentParser) -> None:
    """What an ONNX file leaves open."""
    add_shape(parser)
    parser.add_argument(
        "--value",
        metavar="INPUT=NUMBERS",
        type=named_numbers,
        action="append",
        default=[],
        help="a fixed value for an input of an ONNX file that other shapes depend on: axes=0,1",
    )


def add_shape(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--shape",
        metavar="INPUT=SIZES",
        type=named_sizes,
        action="append",
        default=[],
        help="an input's sizes, where an ONNX file leaves them open: x=1,3,32,32",
    )


def add_toolchain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--toolchain", metavar="NAME", help="a compiler, as in deploy doctor; else the first found"
    )


def add_runner(parser: argparse.ArgumentParser, or_none: str = "") -> None:
    parser.add_argument(
        "--runner",
        metavar="NAME",
        help=f"what runs the firmware; else the board's first found here{or_none}",
    )


def add_where(parser: argparse.ArgumentParser) -> None:
    """--serial and --port: which of several boards."""
    parser.add_argument(
        "--serial", metavar="NUMBER", help="the board, or its debug probe, with this serial number on the USB"
    )
    parser.add_argument(
        "--port", metavar="PORT", help="its line: /dev/ttyACM0, COM3, a pseudo terminal, tcp://HOST:PORT"
    )


def add_reach(parser: argparse.ArgumentParser) -> None:
    """--runner, --serial and --port, where firmware may run already."""
    add_runner(parser, "; attach: it runs already")
    add_where(parser)


def add_line(parser: argparse.ArgumentParser) -> None:
    """--runner, --serial, --port, --trace and --deadline: how the board is reached."""
    add_reach(parser)
    parser.add_argument(
        "--trace", metavar="FILE", type=Path, help="write every packet on the line to this file"
    )
    parser.add_argument(
        "--deadline",
        metavar="SECONDS",
        type=seconds,
        default=RUN_S,
        help=f"what one run may take, {RUN_S:g} if not said",
    )


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dry-run", action="store_true", help="print the command lines instead of running them"
    )
