"""`deploy load` replaces the model of running firmware by a cartridge, or reverts to the previous one."""

from __future__ import annotations

import argparse
from pathlib import Path

from aot.errors import InputError
from codegen.options import CompileOptions
from deploy.cli import options
from deploy.cli.console import print_result
from deploy.devices.cartridge import go_back, load_into, read_cartridge
from deploy.devices.firmware import build, prepare
from deploy.devices.session import open_device
from platforms.base import BuildChoices

EXAMPLE = """
deploy load kws.cart kws-firmware --port /dev/ttyACM0
deploy load --previous kws-firmware --port /dev/ttyACM0
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "cartridge",
        metavar="FILE.cart",
        type=Path,
        nargs="?",
        help="A result of 'deploy compile --cartridge' for this board",
    )
    parser.add_argument(
        "--previous",
        action="store_true",
        help="Go back to the cartridge before the last one instead. The last one is erased",
    )
    options.add_project(parser)
    options.add_toolchain(parser)
    options.add_line(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    if arguments.previous == (arguments.cartridge is not None):
        raise InputError(
            "give a cartridge or --previous, one of the two",
            hint="deploy load IN.cart DIR, or deploy load --previous DIR",
        )
    cartridge = read_cartridge(arguments.cartridge) if arguments.cartridge else None
    prepared = prepare(arguments.directory, None, CompileOptions())
    ready = build(prepared, BuildChoices(arguments.toolchain))
    with open_device(ready, options.line_options(arguments)) as device:
        before = device.model.name
        if cartridge is None:
            go_back(device.session)
        else:
            load_into(device.session, cartridge)
        after, *_ = device.session.describe()
        takes = device.session.cartridges()
    facts = {
        "board": ready.board.name,
        "before": before,
        "model": after.name,
        "slot": takes.slot,
        "bytes": None if cartridge is None else len(cartridge),
        "version": None if takes.running is None else takes.running.version,
    }
    now = f"{after.name} runs on {ready.board.name} now, {before} ran before"
    if takes.are_weights:
        now = f"{after.name} on {ready.board.name} has these weights now"
    size = "the cartridge before" if cartridge is None else f"{len(cartridge):,} bytes"
    print_result(arguments.json, facts, f"{now}: slot {takes.slot}, {size}")
