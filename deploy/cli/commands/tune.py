"""`deploy tune` measures a model's kernels with other knobs on a board and records the results."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from aot.errors import InputError
from aot.wording import counted
from boards.board import Board
from codegen.job import Job
from codegen.kernels.tuning_records import read_records
from deploy.benchmark.meter import emulated_board
from deploy.cli import options
from deploy.cli.console import print_result
from deploy.cli.help_page import as_details
from deploy.devices.firmware import require_emulated_platform
from deploy.python_api.board_arguments import job_of
from deploy.python_api.option_keywords import NOT_FOR_TUNING, TUNING
from deploy.tuner.objectives import BYTES, OBJECTIVES
from deploy.tuner.tune_model import TuneChoices, Tuning, begin, constants_before_and_after, tune_model
from deploy.tuner.tuning_table import devices_text, live, text
from platforms.tuning.auto import schedule_text
from platforms.tuning.search import OnTrial, TaskProgress
from platforms.tuning.tuners import TUNERS

EXAMPLE = """
deploy tune kws.tflite --board mps2-an386 -o kws.jsonl --trials 300
deploy tune kws.tflite --board mps2-an386 --list
"""
_ENOUGH = "1 if instructions are counted, else 5"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_model_archive_or_project(parser)
    options.add_output(parser, "FILE.jsonl", "File of records. An existing one is continued", dest="records")
    search = options.group(parser, "Search")
    search.add_argument("--list", action="store_true", help="List the tasks; measure nothing")
    search.add_argument(
        "--tasks", metavar="LIST", default="", help="Tune only these: 1,3-5 or 2- (2 and up). See --list"
    )
    search.add_argument(
        "--trials", metavar="N", type=options.count, default=300, help="How many points to measure [300]"
    )
    search.add_argument(
        "--early-stop", metavar="N", type=options.count, help="Leave a task after N trials without a gain"
    )
    search.add_argument(
        "--objective",
        choices=OBJECTIVES,
        help="What to minimize [what the board's counter counts]. cycles of emulated boards come from the "
        "model of their "
        "core; size is bytes of code and constants",
    )
    search.add_argument(
        "--tuner", choices=tuple(TUNERS), help="How points are chosen [model with lightgbm, else ga]"
    )
    search.add_argument(
        "--prior", metavar="FILE", type=Path, help="Records of other models or boards to learn from"
    )
    search.add_argument(
        "--keep-constants",
        action="store_true",
        help="Try nothing that needs more flash for constants",
    )
    search.add_argument("--seed", metavar="N", type=int, default=0, help="Seed of random choices [0]")
    search.add_argument(
        "--print-schedules",
        action="store_true",
        help="Print the best schedules of generated loop nests as Python",
    )
    measuring = options.group(parser, "Measuring")
    measuring.add_argument(
        "--number", metavar="N", type=options.count, help=f"Runs timed together [{_ENOUGH}]"
    )
    measuring.add_argument(
        "--median-of",
        metavar="N",
        type=options.count,
        help=f"Measure N times; the median counts [{_ENOUGH}]",
    )
    measuring.add_argument(
        "--timeout", metavar="SECONDS", type=float, default=10.0, help="When a candidate counts as hung [10]"
    )
    measuring.add_argument(
        "--candidates-in",
        choices=("auto", "ram", "image"),
        default="auto",
        help="Load candidates into RAM, or flash many in one image [auto]",
    )
    measuring.add_argument("--farm", metavar="ADDRESS", help="Measure on the boards of 'deploy farm'")
    options.add_board(parser, required=False, instead=". An archive or a project has its own")
    options.add_emulated(parser)
    options.add_line(parser, ("runner", "serial", "port"))
    options.add_build(parser)
    options.add_compile_options(parser, without=NOT_FOR_TUNING)
    options.add_json(parser)
    as_details(
        parser, "--prior", "--keep-constants", "--seed", "--print-schedules", "--number", "--median-of"
    )
    as_details(parser, "--timeout", "--candidates-in", "--tuner", "--early-stop")


def run(arguments: argparse.Namespace) -> None:
    choices = _choices(arguments)
    file = arguments.records if arguments.list else _records(arguments)
    job, board = job_of(arguments.model, arguments.board, options.given_options(arguments, TUNING))
    if arguments.emulated:
        board = emulated_board(board)
        require_emulated_platform(board, arguments.platform)
    if arguments.list:
        records = read_records(file) if file is not None and file.exists() else ()
        tuning = begin(job, board, choices, records)
    else:
        tuning = _search(job, board, choices, file)
    facts, shown = _facts(tuning), _text(tuning)
    if not arguments.list:
        by_default, tuned = constants_before_and_after(job, file)
        facts |= {"constants_bytes": by_default, "tuned_constants_bytes": tuned}
        shown += f"\nconstants in flash: {by_default:,} bytes by default, {tuned:,} with these records"
    print_result(arguments.json, facts, shown)
    if arguments.print_schedules and not arguments.json:
        print(_schedules(tuning), end="")


def _search(job: Job, board: Board, choices: TuneChoices, file: Path) -> Tuning:
    """Tunes. If interrupted, prints the results so far before it ends."""
    begun: list[Tuning] = []
    try:
        with live(choices.trials) as on_begin:

            def begin_watched(tuning: Tuning) -> OnTrial:
                begun.append(tuning)
                return on_begin(tuning)

            return tune_model(job, board, choices, file, begin_watched)
    except KeyboardInterrupt:
        for tuning in begun:
            tried = sum(p.tried for p in tuning.searches)
            print(_text(tuning))
            print(
                f"{counted(tried, 'trial')} in {file}; repeat the command to continue, or use the best "
                f"so far with --tuning-records {file}",
                file=sys.stderr,
            )
        raise


def _records(arguments: argparse.Namespace) -> Path:
    if arguments.records is None:
        raise InputError("tune needs a file for the records", hint="add -o records.jsonl, or --list")
    path: Path = arguments.records
    return path


def _choices(arguments: argparse.Namespace) -> TuneChoices:
    line = options.line_options(arguments)
    return TuneChoices(
        trials=arguments.trials,
        tuner=arguments.tuner,
        tasks=arguments.tasks,
        early_stop=arguments.early_stop,
        number=arguments.number,
        repeat=arguments.median_of,
        timeout_s=arguments.timeout,
        prior=arguments.prior,
        seed=arguments.seed,
        toolchain=arguments.toolchain,
        platform=arguments.platform,
        runner=line.runner,
        where=line.where,
        candidates_in=arguments.candidates_in,
        farm=arguments.farm,
        objective=arguments.objective,
        keep_constants=arguments.keep_constants,
    )


def _facts(tuning: Tuning) -> dict[str, Any]:
    return {
        "board": tuning.board.name,
        "compiler": tuning.setting.compiler,
        "unit": tuning.setting.unit,
        "speedup": round(tuning.speedup, 4),
        "tasks": [_task_facts(number, p) for number, p in enumerate(tuning.searches, 1)],
        "devices": [
            {
                "task": each.name,
                "layers": each.layers,
                "on_device_cost": each.on_device,
                "on_cpu_cost": each.on_cpu,
                "stays_on_cpu": each.stays_on_cpu,
            }
            for each in tuning.devices
        ],
    }


def _task_facts(number: int, p: TaskProgress) -> dict[str, Any]:
    return {
        "number": number,
        "task": p.task.name,
        "layers": p.task.layers,
        "points": len(p.tuner.points),
        "tried": p.tried,
        "failed": p.failed,
        "default_cost": p.default_cost,
        "best_cost": p.best_cost,
        "best": dict(p.best) if p.best is not None else None,
        "schedule": _schedule(p) or None,
    }


def _schedules(tuning: Tuning) -> str:
    found = [text for text in map(_schedule, tuning.searches) if text]
    return "".join(f"\n{text.rstrip()}\n" for text in found)


def _schedule(p: TaskProgress) -> str:
    if p.best is None or p.best == p.task.space.default:
        return ""
    return schedule_text(p.task, p.best)


def _text(tuning: Tuning) -> str:
    devices = f"{devices_text(tuning)}\n" if tuning.devices else ""
    return devices + (_kernels_text(tuning) if tuning.searches else "no kernel on the CPU has knobs")


def _kernels_text(tuning: Tuning) -> str:
    if not any(p.tried for p in tuning.searches):
        return text(tuning)
    unit = tuning.setting.unit
    saved = 1 - 1 / tuning.speedup
    where = "" if unit == BYTES else " in a run of the model"
    gained = f"{unit} of these kernels{where}: {saved:.1%} fewer than by default"
    return f"{text(tuning)}\n{gained}"
