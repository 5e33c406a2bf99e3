"""`deploy bench --kit`: measures a board, or checks a result file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from aot.errors import InputError
from codegen.options import CompileOptions
from deploy.cli import options
from deploy.cli.console import print_result, progress
from deploy.cli.kit_options import read_number
from deploy.silicon.check_kit import KitReport, check_kit, check_parts, with_energy
from deploy.silicon.energy import joined
from deploy.silicon.kit_file import read_kit, sealed, write_kit
from deploy.silicon.kit_models import KIT
from deploy.silicon.kit_page import kit_page
from deploy.silicon.measure_kit import KitWishes, measure_kit
from platforms.board_files import load_board

_SUFFIX = ".kit"


def run_kit(arguments: argparse.Namespace) -> None:
    files = [path for path in arguments.models if path.suffix == _SUFFIX]
    models = [path for path in arguments.models if path.suffix != _SUFFIX]
    if options.compile_options(arguments) == replace(CompileOptions(), check=True):
        _check(arguments, files, models)
        return
    if files or arguments.energy:
        what = "--energy adds to a result file" if arguments.energy else "a result file is checked"
        raise InputError(what, hint=f"deploy bench --kit --check FILE{_SUFFIX}")
    _measure(arguments, models)


def _measure(arguments: argparse.Namespace, models: Sequence[Path]) -> None:
    names: Sequence[str] = arguments.board or []
    if len(names) != 1 or arguments.emulated or arguments.clock:
        raise InputError("the kit measures one board, as it is", hint="deploy bench --kit --board B")
    if options.compile_options(arguments) != CompileOptions():
        raise InputError(
            "the kit compiles with the default options, so that boards can be compared",
            hint="leave out the compiler's options",
        )
    board = load_board(names[0])
    path = arguments.output or Path(f"{board.name}{_SUFFIX}")
    if path.suffix != _SUFFIX:
        raise InputError(f"result files end in {_SUFFIX}", str(path), f"-o {path.stem}{_SUFFIX}")
    wishes = KitWishes(
        options.build_choices(arguments),
        options.line_options(arguments),
        arguments.median_of,
        tuple(models),
        _asked(arguments, "temperature", "room temperature in degrees Celsius"),
        _asked(arguments, "supply", "supply of the chip in volts"),
    )
    with progress("measuring", len(KIT) + len(models) + 1) as bar:
        kit = sealed(path, measure_kit(board, wishes, bar.step))
    report = check_parts(kit, models)
    if not report.problems:
        write_kit(kit)
    _finish(arguments, [report])


def _check(arguments: argparse.Namespace, files: Sequence[Path], models: Sequence[Path]) -> None:
    if not files:
        raise InputError("no result file is given", hint=f"deploy bench --kit --check FILE{_SUFFIX}")
    if not arguments.energy:
        _finish(arguments, [check_kit(path, models) for path in files])
        return
    if len(files) > 1 or not arguments.output:
        raise InputError("energy is added to one file, under a new name", hint=f"-o NEW{_SUFFIX}")
    kit = read_kit(files[0])
    try:
        samples = joined({str(path): path.read_bytes() for path in arguments.energy})
    except OSError as error:
        raise InputError(f"the samples cannot be read: {error.strerror}", str(error.filename)) from None
    where = ", ".join(map(str, arguments.energy))
    written = sealed(arguments.output, with_energy(kit, check_parts(kit, models), samples, where))
    write_kit(written)
    _finish(arguments, [check_parts(written, models)])


def _finish(arguments: argparse.Namespace, reports: Sequence[KitReport]) -> None:
    """Prints the reports. Raises FiguresError if a file is not sound."""
    facts = [report.as_json() for report in reports]
    print_result(arguments.json, facts, "\n\n".join(kit_page(each, arguments.layers) for each in reports))
    for report in reports:
        report.require_sound()


def _asked(arguments: argparse.Namespace, name: str, what: str) -> float | None:
    """Returns an answer of the user: of the command line, or else of the terminal."""
    given: float | None = getattr(arguments, name)
    if given is not None or arguments.yes:
        return given
    if not sys.stdin.isatty():
        raise InputError(f"the {what} is not given", hint=f"--{name} VALUE, or --yes if it is not known")
    sys.stderr.write(f"{what} [not known]: ")
    sys.stderr.flush()
    text = sys.stdin.readline().strip()
    if not text:
        return None
    try:
        return read_number(text)
    except argparse.ArgumentTypeError as error:
        raise InputError(f"{what}: {error}") from None
