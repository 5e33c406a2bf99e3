"""`deploy records` shows tuning results: the best of each task, statistics, merged files, a plot."""

from __future__ import annotations

import argparse
from pathlib import Path

from aot.errors import InputError, OutputError
from artifact.whole_file import write_whole
from codegen.kernels.tuning_records import TuningRecord
from deploy.cli import options
from deploy.cli.console import print_answer, print_result
from deploy.cli.lists import read_all_records, records
from deploy.inputs.result_paths import require_place
from deploy.tuner.records_page import plot_html, plot_svg
from platforms.tuning.record_stats import task_stats

EXAMPLE = """
deploy records best kws.jsonl
deploy records merge a.jsonl b.jsonl -o both.jsonl
deploy records plot kws.jsonl -o kws.svg
"""
_VERBS = ("best", "stats", "merge", "plot")
_PLOTS = {".svg": plot_svg, ".html": plot_html}
_KIND = 8  # characters that distinguish records, .svg and .html
_WHAT = "a file of tuning records or its drawing"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("verb", choices=_VERBS, help="What to do with the records")
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help="Results of 'deploy tune'")
    options.add_output(parser, "FILE", "File to write: .jsonl for merge, .svg or .html for plot", dest="out")
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    if arguments.verb in ("merge", "plot"):
        found, out = read_all_records(arguments.files), _named(arguments)
        text = _lines(found) if arguments.verb == "merge" else _plot(found, out)
        _write(out, text)
        print_result(
            arguments.json, {"file": str(out), "records": len(found)}, f"{out}: {len(found)} records"
        )
        return
    print_answer(arguments.json, records(*arguments.files, verb=arguments.verb))


def _named(arguments: argparse.Namespace) -> Path:
    if arguments.out is None:
        raise InputError(f"deploy records {arguments.verb} needs an output file", hint="-o OUT")
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
            "there is nothing to draw: no record has a cost", hint="deploy records stats shows why"
        )
    return _PLOTS[out.suffix](stats)


def _write(path: Path, text: str) -> None:
    """Writes the file. Replaces an existing file only if it is of the same kind."""
    begins = text[:_KIND]
    require_place(
        path, lambda there: there.read_bytes()[:_KIND].decode(errors="replace") in ("", begins), _WHAT
    )
    write_whole(path, text.encode())
