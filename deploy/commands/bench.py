"""`deploy bench` measures models on boards: it prints a table for people, a list of objects for machines."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aot.counted import counted
from aot.errors import DeployError, InputError
from boards.board import Board
from deploy import options
from deploy.benching import BenchChoices, BoardCost, LayerCost, Modelled, measure_cost
from deploy.console import print_result, progress, table
from deploy.cycle_model import ModelCycles
from deploy.measure import Meter, is_emulated
from platforms.board_files import load_board
from platforms.cycles.model import described, lacks
from platforms.cycles.parts import PARTS
from platforms.cycles.stand_in import stand_in

EXAMPLE = """
deploy bench kws.tflite vww.tflite --board mps2-an386 --json
"""
_HEADS = (
    "model",
    "board",
    "instructions",
    "cycles",
    "time, ms",
    "per MAC",
    "arena",
    "stack",
    "run's",
    "code",
    "constants",
    "compile, s",
)
_LAYER_HEADS = ("", "op", "shapes", "kernel", "MACs", "instructions", "per MAC", "cycles", "share", "origin")
_PART_HEADS = ("model", "board", "model's cycles", *PARTS)
_LAYERS_NOTE = "(in a build that reports each row, which takes a few instructions more)"
_NOTE = (
    "stack: painted on the board, the timing loop in it; run's: at most, as the compiler says\n"
    "code: of a firmware that only runs the model, without its constants; inputs and outputs lie in the arena"
)
_OFF_HEADS = ("model", "board", "cycles measured", "model's cycles", "off by")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("models", metavar="MODEL", nargs="+", type=Path, help="a .tflite or .onnx file")
    parser.add_argument(
        "--board", metavar="B", nargs="+", required=True, help="names of boards, as in deploy boards"
    )
    parser.add_argument("--layers", action="store_true", help="also show what each layer takes")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--emulated", action="store_true", help="emulate boards that are not here, and estimate their cycles"
    )
    where.add_argument(
        "--compare", action="store_true", help="also show how far the cycle model is off for measured boards"
    )
    parser.add_argument(
        "--clock",
        metavar="HZ",
        type=options.count,
        help="the clock of the boards that --emulated emulates (default: their own)",
    )
    parser.add_argument(
        "--repeat",
        metavar="N",
        type=options.count,
        default=3,
        help="number of runs, of which the median counts",
    )
    options.add_compile_options(parser)
    options.add_toolchain(parser)
    options.add_line(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    boards = [load_board(name) for name in arguments.board]
    if arguments.emulated:
        boards = [_emulated(board, arguments.clock) for board in boards]
    elif arguments.clock:
        raise InputError(
            "--clock is given without --emulated, and real boards have a clock of their own",
            hint="--emulated --clock HZ",
        )
    line = options.line_options(arguments)
    choices = BenchChoices(
        options.compile_options(arguments),
        arguments.toolchain,
        line,
        arguments.repeat,
        arguments.layers,
        Modelled.ALL if arguments.compare else Modelled.EMULATED,
    )
    cases = [(model, board) for model in arguments.models for board in boards]
    costs, failures = [], []
    with progress("measuring", len(cases)) as bar:
        for model, board in cases:
            bar.step(f"{model} on {board.name}")
            try:
                costs.append(measure_cost(model, board, choices))
            except DeployError as error:
                if len(cases) == 1:
                    raise
                failures.append(_Failure(model, board, error))
    facts = [*(cost.as_json() for cost in costs), *(failure.as_json() for failure in failures)]
    print_result(arguments.json, facts, _text(costs) if costs else "nothing could be measured")
    _require_all(failures, len(cases))


@dataclass(frozen=True, slots=True)
class _Failure:
    """A model that could not be measured on a board: the others are."""

    model: Path
    board: Board
    error: DeployError

    def as_json(self) -> dict[str, str]:
        return {"model": str(self.model), "board": self.board.name, "error": self.error.what}

    def __str__(self) -> str:
        hint = self.error.hint.partition("\n")[0]
        return f"{self.model} on {self.board.name}: {self.error.what}" + (f" ({hint})" if hint else "")


def _require_all(failures: Sequence[_Failure], cases: int) -> None:
    """Raises DeployError where some failed."""
    if failures:
        raise DeployError(
            f"{len(failures)} of {counted(cases, 'case')} could not be measured",
            "\n".join(map(str, failures)),
        )


def _emulated(board: Board, clock_hz: int | None) -> Board:
    here = board if is_emulated(board) else stand_in(board)
    return replace(here, clock_hz=clock_hz or board.clock_hz)


def _text(costs: Sequence[BoardCost]) -> str:
    parts = [table(_HEADS, [_row(cost) for cost in costs]), *_cycle_notes(costs), _NOTE]
    modelled = [(cost, cost.cycles) for cost in costs if cost.cycles]
    if modelled:
        parts.append("\n" + table(_PART_HEADS, [_parts(cost, cycles) for cost, cycles in modelled]))
    compared = [(cost, cycles.run.count) for cost, cycles in modelled if _measured_cycles(cost)]
    if compared:
        parts.append("\n" + table(_OFF_HEADS, [_off(cost, cycles) for cost, cycles in compared]))
    parts += [
        f"\n{cost.model} on {cost.board.name} {_LAYERS_NOTE}\n{_layers(cost)}"
        for cost in costs
        if cost.layers
    ]
    return "\n".join(parts)


def _row(cost: BoardCost) -> tuple[str, ...]:
    unit = Meter(cost.board).unit
    instructions = cost.count if unit == "instructions" else None
    cycles, seconds = _measured_cycles(cost), cost.seconds
    if cycles is None and cost.cycles:
        cycles, seconds = cost.cycles.run.count, cost.cycles.seconds
    counts = (_number(instructions), _number(cycles))
    times = (f"{seconds * 1e3:.4g}", _per_mac(cost.count, cost.macs))
    memory = (cost.arena_bytes, cost.stack_bytes, cost.run_stack_bytes, cost.code_bytes, cost.constants_bytes)
    sizes = (_number(size) for size in memory)
    return (cost.model, cost.board.name, *counts, *times, *sizes, f"{cost.compile_s:.2f}")


def _measured_cycles(cost: BoardCost) -> int | None:
    return cost.count if Meter(cost.board).unit == "cycles" else None


def _cycle_notes(costs: Sequence[BoardCost]) -> list[str]:
    """Says for each emulated board where its cycles are from, or why there are none."""
    boards = {cost.board.name: cost.board for cost in costs if is_emulated(cost.board)}
    return [f"cycles on {name}: {lacks(board) or described(board)}" for name, board in boards.items()]


def _parts(cost: BoardCost, cycles: ModelCycles) -> tuple[str, ...]:
    whole = cycles.run.count
    return (
        cost.model,
        cost.board.name,
        _number(whole),
        *(f"{part / whole:.1%}" for part in cycles.run.parts.values()),
    )


def _off(cost: BoardCost, modelled: int) -> tuple[str, ...]:
    measured = _measured_cycles(cost)
    assert measured is not None
    return (
        cost.model,
        cost.board.name,
        _number(measured),
        _number(modelled),
        f"{modelled / measured - 1:+.1%}",
    )


def _layers(cost: BoardCost) -> str:
    counted = bool(Meter(cost.board).unit)
    whole = sum(_weight(layer) for layer in cost.layers)
    rows = []
    for each in cost.layers:
        layer, count = each.layer, each.count if counted else None
        what = (str(layer.index), layer.op, layer.shapes, layer.kernel, f"{layer.macs:,}")
        cycles = _number(each.cycles.count if each.cycles else None)
        share = f"{_weight(each) / whole:.1%}" if whole else "-"
        rows.append((*what, _number(count), _per_mac(count, layer.macs), cycles, share, layer.origin))
    return table(_LAYER_HEADS, rows)


def _weight(layer: LayerCost) -> float:
    """The cost whose share is printed: modelled cycles where there are some, else time."""
    return layer.cycles.count if layer.cycles else layer.seconds


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _per_mac(count: int | None, macs: int) -> str:
    return "-" if count is None or macs == 0 else f"{count / macs:.2f}"
