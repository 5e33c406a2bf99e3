"""`deploy load` replaces the model of running firmware by a cartridge's."""

from __future__ import annotations

import argparse
from pathlib import Path

from codegen.options import CompileOptions
from deploy import options
from deploy.cartridge import load_into, read_cartridge
from deploy.console import print_result
from deploy.device import open_device
from deploy.firmware import build, prepare
from platforms.base import BuildChoices

EXAMPLE = """
deploy load kws.cart kws-firmware --port /dev/ttyACM0
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "cartridge", metavar="IN.cart", type=Path, help="made by deploy compile --cartridge for the board"
    )
    options.add_project(parser)
    options.add_toolchain(parser)
    options.add_line(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    cartridge = read_cartridge(arguments.cartridge)
    prepared = prepare(arguments.directory, None, CompileOptions())
    ready = build(prepared, BuildChoices(arguments.toolchain))
    with open_device(ready, options.line_options(arguments)) as device:
        before = device.model.name
        load_into(device.session, cartridge)
        after, *_ = device.session.describe()
        takes = device.session.cartridges()
    facts = {
        "board": ready.board.name,
        "before": before,
        "model": after.name,
        "slot": takes.slot,
        "bytes": len(cartridge),
    }
    now = f"{after.name} runs on {ready.board.name} now, {before} ran before"
    if takes.are_weights:
        now = f"{after.name} on {ready.board.name} has these weights now"
    print_result(arguments.json, facts, f"{now}: slot {takes.slot}, {len(cartridge):,} bytes")
