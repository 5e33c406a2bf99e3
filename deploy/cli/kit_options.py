"""The options of `deploy bench --kit`. Its work is in deploy/silicon, which most commands do not load."""

from __future__ import annotations

import argparse
from pathlib import Path

from aot.errors import InputError
from deploy.cli import options
from deploy.cli.help_page import as_details

_ONLY_KIT = {
    "energy": "--energy",
    "temperature": "--temperature",
    "supply": "--supply",
    "yes": "--yes",
    "output": "-o",
}


def add_kit_arguments(parser: argparse.ArgumentParser) -> None:
    kit = options.group(parser, "Kit for boards on your desk")
    kit.add_argument(
        "--kit",
        action="store_true",
        help="Measure six models on a board, into a file; '--kit --check FILE.kit' checks one",
    )
    options.add_output(kit, "FILE", "The file to write [BOARD.kit]")
    kit.add_argument(
        "--temperature",
        metavar="CELSIUS",
        type=read_number,
        help="Temperature of the room, instead of asking",
    )
    kit.add_argument(
        "--supply", metavar="VOLTS", type=read_number, help="Supply of the chip, instead of asking"
    )
    kit.add_argument("--yes", action="store_true", help="Ask nothing: what is not given is not known")
    kit.add_argument(
        "--energy",
        metavar="FILE.csv",
        type=Path,
        action="append",
        help="Add a power analyser's samples to a checked file; again for more",
    )
    kit.add_argument(
        "--mlperf",
        metavar="SAMPLES",
        type=Path,
        help="Run a benchmark of MLPerf Tiny on a folder of samples; -o DIVISION/SUBMITTER: a submission",
    )
    as_details(parser, "--mlperf", "--kit", "--output", "--temperature", "--supply", "--yes", "--energy")


def read_number(text: str) -> float:
    """Parses a temperature or a voltage."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not -273.15 <= value < 1000:
        raise argparse.ArgumentTypeError(f"must be a number, not {text}")
    return value


def require_no_kit(arguments: argparse.Namespace) -> None:
    """Raises InputError for options that only the kit has."""
    given = [flag for name, flag in _ONLY_KIT.items() if getattr(arguments, name)]
    if given:
        raise InputError(f"{', '.join(given)} belongs to the kit", hint="deploy bench --kit --board B")
