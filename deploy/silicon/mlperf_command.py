"""`deploy bench --mlperf`: runs a model in a benchmark of MLPerf Tiny, and writes a submission."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from aot.errors import InputError, OutputError
from aot.wording import counted
from artifact.whole_file import write_whole
from boards.board import Board
from codegen.version import VERSION
from deploy.cli import options
from deploy.cli.console import print_result, progress
from deploy.devices.buildable_boards import platform_for, platform_here
from deploy.devices.firmware import build_source, prepare
from deploy.devices.session import line_to
from deploy.silicon.mlperf_run import WINDOW_S, WINDOWS, Measured, measure, throughput
from deploy.silicon.mlperf_samples import read_samples
from platforms.folder import write_project
from platforms.mlperf_tiny import Benchmark, benchmark_of
from platforms.project import App, ProjectSource

_DIVISIONS = ("closed", "open")
_NOT_HARDWARE = "measured in an emulator or on the computer: no measurement of hardware"


def run_mlperf(arguments: argparse.Namespace) -> None:
    model, board_name = _require_case(arguments)
    prepared = prepare(model, board_name, options.compile_options(arguments))
    if isinstance(prepared.source, Path):
        raise InputError("--mlperf builds its own firmware", str(model), "give the model or the archive")
    board, source, choices = prepared.board, prepared.source, options.build_choices(arguments)
    platform = platform_for(board, choices.platform) if choices.platform else platform_here(board)
    benchmark = benchmark_of(source, board, platform.name)
    samples = read_samples(arguments.mlperf, benchmark)
    if arguments.output:
        _require_place(arguments.output, board, benchmark)
    ready = build_source(source, board, choices, App.MLPERF_TINY)
    line = line_to(ready, options.line_options(arguments))
    try:
        with progress("measuring", len(samples) + WINDOWS) as bar:
            measured = measure(line, benchmark, samples, bar.step)
    finally:
        line.close()
    facts = _facts(benchmark, board, measured, len(samples), line.is_program)
    if arguments.output:
        code = platform.files(source, board, App.MLPERF_TINY)
        _write_submission(arguments.output, facts, measured, board, code, str(ready.built.toolchain))
    print_result(arguments.json, facts, _page(facts, benchmark, source, arguments.output))


def _require_case(arguments: argparse.Namespace) -> tuple[Path, str]:
    if len(arguments.models) != 1 or len(arguments.board or ()) != 1:
        raise InputError(
            "--mlperf measures one model on one board", hint="deploy bench --mlperf SAMPLES MODEL --board B"
        )
    others = {
        "--emulated": arguments.emulated,
        "--baseline": arguments.baseline,
        "--layers": arguments.layers,
    }
    given = [name for name, value in others.items() if value]
    if given:
        raise InputError(f"--mlperf does not go with {', '.join(given)}", hint=f"leave out {given[0]}")
    return arguments.models[0], arguments.board[0]


def _facts(
    benchmark: Benchmark, board: Board, measured: Measured, samples: int, is_program: bool
) -> dict[str, Any]:
    quality = measured.quality
    found = quality.auc if benchmark.is_spectrum else quality.top1_percent
    return {
        "benchmark": benchmark.model,
        "task": benchmark.task,
        "board": board.name,
        "is_hardware": not is_program,
        "samples": samples,
        "top1_percent": quality.top1_percent,
        "auc": quality.auc,
        "target": benchmark.target,
        "meets_target": found is not None and found >= benchmark.target,
        "inferences_per_second": measured.per_second,
        "windows": [throughput(each) for each in measured.windows],
    }


def _page(facts: dict[str, Any], benchmark: Benchmark, source: ProjectSource, output: Path | None) -> str:
    auc = "unknown: a class has no samples" if facts["auc"] is None else f"{facts['auc']:.3f}"
    metric = "AUC" if benchmark.is_spectrum else "top 1, in percent"
    lines = [
        f"{source.name} on {facts['board']}: MLPerf Tiny's {benchmark.model}, {benchmark.title}",
        *([] if facts["is_hardware"] else [f"  NOT HARDWARE: {_NOT_HARDWARE}"]),
        f"  top 1         {facts['top1_percent']:.1f} % of {counted(facts['samples'], 'sample')}",
        f"  AUC           {auc}",
        f"  throughput    {facts['inferences_per_second']:,.3f} inferences a second, the median of "
        f"{WINDOWS} windows of at least {WINDOW_S:g} s",
        f"  closed        asks for {benchmark.target:g} ({metric}): "
        f"{'met' if facts['meets_target'] else 'not met'}",
    ]
    if output is not None:
        lines.append(f"  written to    {output}; complete systems/{facts['board']}.json there")
    return "\n".join(lines)


# ---- the submission ----


def _places(folder: Path, board: Board, task: str) -> tuple[Path, Path, Path]:
    """Returns the places of a submission's results, code and system."""
    return (
        folder / "results" / board.name / task,
        folder / "code" / board.name / task,
        folder / "systems" / f"{board.name}.json",
    )


def _require_place(folder: Path, board: Board, benchmark: Benchmark) -> None:
    """Raises InputError unless the folder is DIVISION/SUBMITTER, and OutputError if results are there."""
    if folder.resolve().parent.name not in _DIVISIONS:
        raise InputError(
            f"a submission's folder is DIVISION/SUBMITTER, with the division {' or '.join(_DIVISIONS)}",
            str(folder),
            f"-o {folder.parent / _DIVISIONS[0] / folder.name}",
        )
    for place in _places(folder, board, benchmark.task)[:2]:
        if place.exists():
            raise OutputError(
                "there are results already", str(place), "remove them, or choose another folder"
            )


def _write_submission(
    folder: Path, facts: dict[str, Any], measured: Measured, board: Board, code: Any, toolchain: str
) -> None:
    """Writes results last: a folder with results is complete. A system that is described stays as it is."""
    results, sources, system = _places(folder, board, facts["task"])
    shown = {name: text for name, text in code.items() if not name.startswith(".")}
    write_project(sources, shown)
    if not system.exists():
        system.parent.mkdir(parents=True, exist_ok=True)
        described = _system(folder, board, toolchain, facts["is_hardware"])
        write_whole(system, (json.dumps(described, indent=2) + "\n").encode(), "the system")
    write_project(
        results, {f"{mode.name}/{name}": text for mode in measured.modes for name, text in mode.files.items()}
    )


def _system(folder: Path, board: Board, toolchain: str, is_hardware: bool) -> dict[str, str]:
    place = folder.resolve()
    memories = ", ".join(f"{each.name} {each.bytes // 1024} KiB" for each in board.regions)
    return {
        "Submitter": place.name,
        "Division": place.parent.name.capitalize(),
        "Status": "Available" if is_hardware else "RDI",
        "Board Name": board.title,
        "SoC Name": board.mcu,
        "Processor(s) Name": board.core.name,
        "Processor(s) Frequencies": f"{board.clock_hz / 1e6:g} MHz",
        "Processor memory type and capacity": memories,
        "Accelerator": "",
        "Accelerator(s) Frequencies": "",
        "Accelerator memory type and capacity": "",
        "Hardware Notes": "" if is_hardware else _NOT_HARDWARE,
        "Inference Framework": f"Solder {VERSION}",
        "Software Libraries": "",
        "Software Notes": "",
        "Operating System": "none",
        "General Compiler(s)": toolchain,
    }
