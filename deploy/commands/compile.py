"""deploy compile: a model file becomes an archive of C sources, if it fits the board."""

from __future__ import annotations

import argparse
from pathlib import Path

from boards.load import load_board
from codegen.tuning_records import Selection, read_records
from deploy import options
from deploy.compiling import Compiled, compile_for
from deploy.console import print_result
from deploy.settings import compile_options

EXAMPLE = """
deploy compile kws.tflite --board mps2-an386 -o kws.tar
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_model(parser)
    options.add_board(parser)
    parser.add_argument(
        "-o", metavar="OUT.tar", dest="archive", type=Path, required=True, help="the archive to write"
    )
    options.add_compile_options(parser)
    parser.add_argument(
        "--tuning-records",
        metavar="FILE",
        type=Path,
        help="what deploy tune wrote: the fastest knobs are used",
    )
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    board = load_board(arguments.board)
    records = read_records(arguments.tuning_records) if arguments.tuning_records is not None else ()
    compiled = compile_for(arguments.model, board, compile_options(arguments), records)
    compiled.save(arguments.archive)
    print_result(arguments.json, _facts(compiled, arguments.archive), _text(compiled, arguments.archive))


def _facts(compiled: Compiled, archive: Path) -> dict[str, object]:
    facts = compiled.report.facts
    return {
        "archive": str(archive),
        "model": facts.name,
        "model_hash": facts.model_hash,
        "board": compiled.board.name,
        "arena_bytes": facts.arena_bytes,
        "constants_bytes": facts.constants_bytes,
        "code_bytes_estimate": facts.code_bytes_estimate,
        "stack_bytes_estimate": facts.stack_bytes_estimate,
        "compile_s": round(compiled.seconds, 3),
    }


def _text(compiled: Compiled, archive: Path) -> str:
    facts = compiled.report.facts
    tuned = sum(layer.why.startswith("tuned") for layer in facts.layers)
    return (
        f"{archive}: {facts.name} for {compiled.board.name}, compiled in {compiled.seconds:.2f} s\n"
        f"  arena      {facts.arena_bytes:>9,} bytes\n"
        f"  constants  {facts.constants_bytes:>9,} bytes\n"
        f"  code       {facts.code_bytes_estimate:>9,} bytes, estimated"
        + (_records_text(compiled.selection, tuned) if compiled.selection is not None else "")
    )


def _records_text(selection: Selection, tuned: int) -> str:
    unused = sorted(selection.unused.items(), key=lambda item: (-item[1], item[0]))
    lines = [
        f"  tuned      {tuned:>9,} layers",
        *(f"  not used   {n:>9,} records: {why}" for why, n in unused),
    ]
    return "\n" + "\n".join(lines)
