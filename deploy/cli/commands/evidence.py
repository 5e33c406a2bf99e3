"""`deploy evidence` writes evidence about compiled code for a safety assessor."""

from __future__ import annotations

import argparse
from pathlib import Path

from aot.errors import CheckError
from deploy.cli import options
from deploy.cli.console import print_result
from deploy.proving.chapter import Standing
from deploy.proving.folder import read_folder, require_folder_place
from deploy.proving.make import gather, require_known
from deploy.proving.subject import About, subject_of
from deploy.proving.table import CHAPTERS
from platforms.board_files import load_board

EXAMPLE = """
deploy evidence kws.tar -o evidence
deploy evidence kws.tar --project firmware --chapter sums -o evidence
deploy evidence newer.tar --baseline evidence -o newer
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        metavar="MODEL|ARCHIVE",
        type=Path,
        help="A .tflite or .onnx file, or a result of 'deploy compile'",
    )
    options.add_output(parser, "DIR", "Write the evidence into this folder")
    parser.add_argument(
        "--chapter",
        metavar="NAME",
        action="append",
        default=[],
        help=f"Only this chapter; may be repeated. Known: {', '.join(each.name for each in CHAPTERS)}",
    )
    parser.add_argument(
        "--project",
        metavar="PROJECT",
        type=Path,
        help="Project made of the archive: report changed generated files",
    )
    parser.add_argument(
        "--baseline",
        metavar="DIR",
        type=Path,
        help="Earlier evidence: report which chapters and layers are invalid now",
    )
    options.add_board(parser, required=False, instead=". A model file needs one")
    options.add_toolchain(parser)
    options.add_compile_options(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    require_known(arguments.chapter)
    if arguments.output:
        require_folder_place(arguments.output)
    older = read_folder(arguments.baseline) if arguments.baseline else None
    board = load_board(arguments.board) if arguments.board else None
    asked = About(board, arguments.project, arguments.toolchain)
    subject = subject_of(arguments.model, asked, options.compile_options(arguments))
    found = gather(subject, arguments.chapter, older=older)
    if arguments.output:
        found.save(arguments.output)
    page = f"{found}\nwrote {arguments.output}" if arguments.output else str(found)
    print_result(arguments.json, found.as_json(), page)
    failed = [chapter.name for chapter, finding in found.chapters if finding.verdict is Standing.FAILED]
    if failed:
        raise CheckError(f"the evidence fails in {', '.join(failed)}", subject.name)
