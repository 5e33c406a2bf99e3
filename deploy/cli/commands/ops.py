"""`deploy ops` lists the supported operators, or those of a model, from the compiler's tables."""

from __future__ import annotations

import argparse
from pathlib import Path

from codegen.options import OPTIONS
from deploy.cli import options
from deploy.cli.console import print_answer, print_result

EXAMPLE = """
deploy ops
deploy ops Gemm
deploy ops conv2d --meaning
deploy ops model.onnx --shape x=1,3,32,32
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name",
        metavar="OPERATOR|MODEL",
        nargs="?",
        help="Operator or op to show with its limits: Gemm, FULLY_CONNECTED, dense. Or a .tflite or .onnx "
        "file: its "
        "operators, and which of them are not supported",
    )
    parser.add_argument("--meaning", action="store_true", help="Show an example of the operator as loops")
    options.add_option(parser, OPTIONS["shape"])
    options.add_option(parser, OPTIONS["value"])
    options.add_json(parser, ", limits included")


def run(arguments: argparse.Namespace) -> None:
    from deploy.cli.lists import ops  # loading all ops is slow
    from deploy.inspection.model_operators import is_model_file, model_operators

    if arguments.meaning or arguments.name is None or not is_model_file(arguments.name):
        print_answer(arguments.json, ops(arguments.name, arguments.meaning))
        return
    found = model_operators(Path(arguments.name), options.compile_options(arguments))
    print_result(arguments.json, found.as_json(), str(found))
    found.require_supported()
