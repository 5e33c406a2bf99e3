"""`deploy accelerators` lists what --accelerator can name, and the ops that each computes."""

from __future__ import annotations

import argparse

from deploy.console import print_result, table

EXAMPLE = "deploy accelerators --json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> None:
    from codegen.accelerators.table import accelerators

    found = accelerators()
    facts = [
        {"name": name, "summary": each.summary, "ops": sorted(each.schedules)} for name, each in found.items()
    ]
    rows = [(name, ", ".join(sorted(each.schedules)), each.summary) for name, each in found.items()]
    print_result(arguments.json, facts, table(("accelerator", "computes", ""), rows))
