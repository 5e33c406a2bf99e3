"""`deploy records` shows what tuning has found: the best of each task, statistics, files merged, a plot."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from aot.errors import InputError, OutputError
from artifact.whole_file import write_whole
from codegen.kernels.tuning_records import TuningRecord, read_records
from deploy import options
from deploy.console import print_result, table
from deploy.files import require_place
from deploy.records_plot import plot_html, plot_svg
from platforms.tuning.record_file import merged
from platforms.tuning.record_stats import TaskStats, best_text, task_stats

EXAMPLE = """
deploy records best kws.jsonl
deploy records merge a.jsonl b.jsonl -o both.jsonl
deploy records plot kws.jsonl -o kws.svg
"""
_VERBS = ("best", "stats", "merge", "plot")
_PLOTS = {".svg": plot_svg, ".html": plot_html}
_KIND = 8  # characters that tell records, .svg and .html apart
_WHAT = "a file of tuning records or its drawing"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("verb", choices=_VERBS, help="what to do with the records")
    parser.add_argument(
        "files", metavar="FILE", nargs="+", type=Path, help="records, as deploy tune wrote them"
    )
    parser.add_argument(
        "-o",
        metavar="OUT",
        dest="out",
        type=Path,
        help="the file to write: .jsonl for merge, .svg or .html for plot",
    )
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    records = merged([read_records(path) for path in arguments.files])
    if not records:
        raise InputError(
            "there are no records yet",
            ", ".join(str(path) for path in arguments.files),
            "deploy tune MODEL --board B -o FILE writes them",
        )
    if arguments.verb in ("merge", "plot"):
        out = _named(arguments)
        text = _lines(records) if arguments.verb == "merge" else _plot(records, out)
        _write(out, text)
        print_result(
            arguments.json, {"file": str(out), "records": len(records)}, f"{out}: {len(records)} records"
        )
        return
    stats = task_stats(records)
    shown = _best(stats) if arguments.verb == "best" else _stats(stats)
    print_result(arguments.json, [_facts(each) for each in stats], shown)


def _named(arguments: argparse.Namespace) -> Path:
    if arguments.out is None:
        raise InputError(f"deploy records {arguments.verb} needs a file to write", hint="-o OUT")
    path: Path = arguments.out
    return path


def _lines(records: tuple[TuningRecord, ...]) -> str:
    return "".join(record.as_line() for record in records)


def _plot(records: tuple[TuningRecord, ...], out: Path) -> str:
    if out.suffix not in _PLOTS:
        raise OutputError(
            f'a plot is a .svg or .html file, not "{out.suffix}"', str(out), f"-o {out.with_suffix('.svg')}"
        )
    stats = task_stats(records)
    if not any(s.curve and s.default for s in stats):
        raise InputError(
            "there is nothing to draw: no record has a cost", hint="deploy records stats says why"
        )
    return _PLOTS[out.suffix](stats)


def _write(path: Path, text: str) -> None:
    """Writes the file; only an earlier file of the same kind is replaced."""
    begins = text[:_KIND]
    require_place(
        path, lambda there: there.read_bytes()[:_KIND].decode(errors="replace") in ("", begins), _WHAT
    )
    write_whole(path, text.encode())


def _best(stats: tuple[TaskStats, ...]) -> str:
    heads = ("task", "core", "board", "default", "best", "gain", "knobs")
    rows = [
        (s.task, s.core, s.board, _number(s.default), _number(s.best), s.gain_text, best_text(s))
        for s in stats
    ]
    return table(heads, rows)


def _stats(stats: tuple[TaskStats, ...]) -> str:
    heads = ("task", "core", "board", "trials", "failed", "trials/s", "best at trial", "why they failed")
    return table(heads, [_stats_row(each) for each in stats])


def _stats_row(s: TaskStats) -> tuple[str, ...]:
    counts = (str(s.trials), str(s.failed), f"{s.trials_per_s:.1f}", str(s.best_at or "-"))
    return (s.task, s.core, s.board, *counts, "; ".join(f"{n} {why}" for why, n in s.failures))


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _facts(s: TaskStats) -> dict[str, Any]:
    return {
        "task": s.task,
        "core": s.core,
        "board": s.board,
        "compiler": s.compiler,
        "trials": s.trials,
        "failed": s.failed,
        "failures": dict(s.failures),
        "default_cost": s.default,
        "best_cost": s.best,
        "best": dict(s.knobs) if s.knobs is not None else None,
        "best_at": s.best_at,
        "trials_per_s": round(s.trials_per_s, 2),
    }
