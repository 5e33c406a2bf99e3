"""deploy bench: models on boards, measured: a table for people, a list of objects for machines."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from deploy import options
from deploy.benching import BenchChoices, Cost, measure_cost
from deploy.console import print_result, progress, table
from deploy.measure import Meter
from platforms.board_files import load_board

EXAMPLE = """
deploy bench kws.tflite vww.tflite --board mps2-an386 --json
"""
_HEADS = (
    "model",
    "board",
    "instructions",
    "time, ms",
    "per MAC",
    "arena",
    "stack",
    "run's",
    "code",
    "constants",
    "compile, s",
)
_LAYER_HEADS = ("", "op", "shapes", "kernel", "MACs", "instructions", "per MAC", "share", "origin")
_LAYERS_NOTE = "(in a build that reports each row, which takes a few instructions more)"
_NOTE = (
    "stack: painted on the board, the timing loop in it; run's: at most, as the compiler says\n"
    "code: of a firmware that only runs the model, without its constants; inputs and outputs lie in the arena"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("models", metavar="MODEL", nargs="+", type=Path, help="a .tflite or .onnx file")
    parser.add_argument(
        "--board", metavar="B", nargs="+", required=True, help="boards' names, as in deploy boards"
    )
    parser.add_argument("--layers", action="store_true", help="also what each layer takes")
    parser.add_argument(
        "--repeat", metavar="N", type=options.count, default=3, help="runs; the median counts"
    )
    options.add_compile_options(parser)
    options.add_toolchain(parser)
    options.add_line(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    boards = [load_board(name) for name in arguments.board]
    line = options.line_options(arguments)
    choices = BenchChoices(
        options.compile_options(arguments),
        arguments.toolchain,
        line,
        arguments.repeat,
        arguments.layers,
    )
    costs = []
    with progress("measuring", len(arguments.models) * len(boards)) as bar:
        for model in arguments.models:
            for board in boards:
                bar.step(f"{model} on {board.name}")
                costs.append(measure_cost(model, board, choices))
    print_result(arguments.json, [cost.as_json() for cost in costs], _text(costs))


def _text(costs: Sequence[Cost]) -> str:
    parts = [table(_HEADS, [_row(cost) for cost in costs]), _NOTE]
    parts += [
        f"\n{cost.model} on {cost.board.name} {_LAYERS_NOTE}\n{_layers(cost)}"
        for cost in costs
        if cost.layers
    ]
    return "\n".join(parts)


def _row(cost: Cost) -> tuple[str, ...]:
    times = (_number(cost.count), f"{cost.seconds * 1e3:.4g}", _per_mac(cost.count, cost.macs))
    memory = (cost.arena_bytes, cost.stack_bytes, cost.run_stack_bytes, cost.code_bytes, cost.constants_bytes)
    return (cost.model, cost.board.name, *times, *(_number(size) for size in memory), f"{cost.compile_s:.2f}")


def _layers(cost: Cost) -> str:
    counted = bool(Meter(cost.board).unit)
    whole = sum(layer.seconds for layer in cost.layers)
    rows = []
    for each in cost.layers:
        layer, count = each.layer, each.count if counted else None
        what = (str(layer.index), layer.op, layer.shapes, layer.kernel, f"{layer.macs:,}")
        share = f"{each.seconds / whole:.1%}" if whole else "-"
        rows.append((*what, _number(count), _per_mac(count, layer.macs), share, layer.origin))
    return table(_LAYER_HEADS, rows)


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _per_mac(count: int | None, macs: int) -> str:
    return "-" if count is None or macs == 0 else f"{count / macs:.2f}"
