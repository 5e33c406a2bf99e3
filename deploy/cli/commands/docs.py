"""`deploy docs` shows the documentation offline."""

from __future__ import annotations

import argparse

from deploy.cli.help_page import add_json

EXAMPLE = """
deploy docs
deploy docs exporting
deploy docs ops | less
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("page", metavar="PAGE", nargs="?", help="Page to show [a list of all pages]")
    add_json(parser, ", a page as Markdown")


def run(arguments: argparse.Namespace) -> None:
    from deploy.cli.console import print_answer
    from deploy.cli.docs_pages import docs
    from deploy.cli.terminal_width import terminal_columns

    answer, columns = docs(arguments.page), terminal_columns()
    if arguments.page is None or arguments.json or columns is None:
        print_answer(arguments.json, answer)
        return
    from deploy.cli.docs_on_terminal import print_on_terminal  # rich is slow to import

    print_on_terminal(answer.page, columns)
