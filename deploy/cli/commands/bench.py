"""`deploy bench` measures models on boards and prints a table, or JSON."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aot.errors import DeployError, FiguresError, InputError
from aot.wording import counted
from boards.board import Board
from deploy.benchmark.baseline_changes import (
    LIMIT_PERCENT,
    changes_markdown,
    changes_page,
    changes_since,
    read_baseline,
)
from deploy.benchmark.bench_model import BenchChoices, Modelled, measure_file
from deploy.benchmark.bench_page import bench_page
from deploy.benchmark.meter import emulated_board
from deploy.cli import options
from deploy.cli.console import print_result, progress
from deploy.cli.kit_options import add_kit_arguments, require_no_kit
from deploy.cli.parser import UsageError, missing_text
from deploy.devices.firmware import named_board, require_emulated_platform

EXAMPLE = """
deploy bench kws.tflite vww.tflite --board mps2-an386 --json
deploy bench kws.tflite --board mps2-an386 --layers --baseline b.json
deploy bench --kit --board nucleo-f446re
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_model_archive_or_project(parser, dest="models", nargs="*")
    what = options.group(parser, "What is measured")
    what.add_argument("--layers", action="store_true", help="Also show each layer")
    where = what.add_mutually_exclusive_group()
    where.add_argument(
        "--emulated", action="store_true", help="Emulate boards that are not here; estimate their cycles"
    )
    where.add_argument(
        "--compare", action="store_true", help="Show how far the cycle model is off for measured boards"
    )
    what.add_argument(
        "--clock", metavar="HZ", type=options.count, help="Clock of emulated boards [their own]"
    )
    what.add_argument(
        "--median-of",
        metavar="N",
        type=options.count,
        default=3,
        help="Measure N times; the median counts [3]",
    )
    compared = options.group(parser, "Comparison with earlier figures")
    compared.add_argument(
        "--baseline",
        metavar="FILE.json",
        type=Path,
        help="Show changes since this result of --json; exit with 1 if worse",
    )
    compared.add_argument(
        "--worse",
        metavar="PERCENT",
        type=options.percent,
        default=LIMIT_PERCENT,
        help=f"How much worse a figure may be [{LIMIT_PERCENT:g}]",
    )
    compared.add_argument(
        "--markdown", action="store_true", help="Print changes as Markdown, for a pull request"
    )
    add_kit_arguments(parser)
    options.add_boards(parser, required=False)
    options.add_line(parser)
    options.add_build(parser)
    options.add_compile_options(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    if arguments.kit:
        # Most measurements need none of it.
        from deploy.silicon.kit_command import run_kit

        run_kit(arguments)
        return
    if arguments.mlperf:
        from deploy.silicon.mlperf_command import run_mlperf

        run_mlperf(arguments)
        return
    _require_case(arguments)
    if arguments.clock and not arguments.emulated:
        raise InputError(
            "--clock needs --emulated: connected boards have their own clock",
            hint="--emulated --clock HZ",
        )
    baseline = read_baseline(arguments.baseline) if arguments.baseline else None
    if arguments.markdown and baseline is None:
        raise InputError("--markdown needs --baseline", hint="--baseline FILE.json")
    line = options.line_options(arguments)
    choices = BenchChoices(
        options.compile_options(arguments),
        options.build_choices(arguments),
        line,
        arguments.median_of,
        arguments.layers,
        Modelled.ALL if arguments.compare else Modelled.EMULATED,
    )
    cases = [(model, board) for model in arguments.models for board in _boards(arguments, model)]
    costs, failures = [], []
    with progress("measuring", len(cases)) as bar:
        for model, board in cases:
            bar.step(f"{model} on {board.name}")
            try:
                costs.append(measure_file(model, board, choices))
            except DeployError as error:
                if len(cases) == 1:
                    raise
                failures.append(_Failure(model, board, error))
    facts = [*(cost.as_json() for cost in costs), *(failure.as_json() for failure in failures)]
    if baseline is not None:
        changes = changes_since(baseline, [cost.as_json() for cost in costs], arguments.worse / 100)
        page = changes_markdown(changes) if arguments.markdown else changes_page(changes)
        print_result(arguments.json, changes.as_json(), page)
        _require_all(failures, len(cases))
        changes.require_none_worse()
        return
    print_result(arguments.json, facts, bench_page(costs) if costs else "nothing could be measured")
    _require_all(failures, len(cases))


def _boards(arguments: argparse.Namespace, model: Path) -> list[Board]:
    """Returns the named boards, or else that of the archive or project, emulated if asked for."""
    boards = [named_board(name, model) for name in arguments.board or (None,)]
    if not arguments.emulated:
        return boards
    boards = [emulated_board(each, arguments.clock) for each in boards]
    for board in boards:
        require_emulated_platform(board, arguments.platform)
    return boards


def _require_case(arguments: argparse.Namespace) -> None:
    """Raises UsageError for what the parser requires of commands without a kit."""
    require_no_kit(arguments)
    if not arguments.models:
        raise UsageError(missing_text([options.ANY_MODEL]), hint="deploy bench --help lists all options")


@dataclass(frozen=True, slots=True)
class _Failure:
    """A model that could not be measured on a board, which does not stop the others."""

    model: Path
    board: Board
    error: DeployError

    def as_json(self) -> dict[str, str]:
        return {"model": str(self.model), "board": self.board.name, "error": self.error.what}

    def __str__(self) -> str:
        hint = self.error.hint.partition("\n")[0]
        return f"{self.model} on {self.board.name}: {self.error.what}" + (f" ({hint})" if hint else "")


def _require_all(failures: Sequence[_Failure], cases: int) -> None:
    """Raises FiguresError if any measurement failed."""
    if failures:
        raise FiguresError(
            f"{len(failures)} of {counted(cases, 'case')} could not be measured",
            "\n".join(map(str, failures)),
        )
