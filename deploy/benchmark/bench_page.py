"""The page about the cost of models on boards: a table, cycles by category, layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deploy.benchmark.bench_model import BoardCost, LayerCost
from deploy.benchmark.cycle_model import ModelCycles
from deploy.benchmark.meter import Meter, is_emulated
from deploy.cli.console import count_text, table
from platforms.cycles.estimate import Cycles
from platforms.cycles.model import described, lacks
from platforms.cycles.parts import FLASH_WAITS, PARTS
from platforms.second_core import COUNTED

_HEADS = (
    "model",
    "board",
    "instructions",
    "cycles",
    "time, ms",
    "per MAC",
    "arena",
    "stack",
    "stack bound",
    "code",
    "constants",
    "compile, s",
)
_LAYER_HEADS = ("", "op", "shapes", "kernel", "MACs", "instructions", "per MAC", "cycles", "share", "origin")
_WAITS_AT = _LAYER_HEADS.index("share")
_PART_HEADS = ("model", "board", "model's cycles", *PARTS)
_LAYERS_NOTE = "(in a build that reports each row, which takes a few instructions more)"
_NOTE = (
    "stack: measured by painting, timing loop included; stack bound: of one run, by the compiler's account\n"
    "code: firmware that only runs the model, without its constants; inputs and outputs lie in the arena"
)
_OFF_HEADS = ("model", "board", "cycles measured", "model's cycles", "off by")


def bench_page(costs: Sequence[BoardCost]) -> str:
    parts = [table(_HEADS, [_row(cost) for cost in costs]), *_cycle_notes(costs), _NOTE]
    modelled = [(cost, cost.cycles) for cost in costs if cost.cycles]
    if modelled:
        parts.append("\n" + table(_PART_HEADS, [_parts(cost, cycles) for cost, cycles in modelled]))
    compared = [(cost, cycles.run.count) for cost, cycles in modelled if _measured_cycles(cost)]
    if compared:
        parts.append("\n" + table(_OFF_HEADS, [_off(cost, cycles) for cost, cycles in compared]))
    parts += _energy_lines(costs)
    parts += [
        f"\n{cost.model} on {cost.board.name} {_LAYERS_NOTE}\n{_layers(cost)}"
        for cost in costs
        if cost.layers
    ]
    return "\n".join(parts)


def _row(cost: BoardCost) -> tuple[str, ...]:
    unit = Meter(cost.board).unit
    instructions = cost.count if unit == "instructions" else None
    cycles = _measured_cycles(cost)
    if cycles is None and cost.cycles:
        cycles = cost.cycles.run.count
    time = "-" if cost.time_s is None else f"{cost.time_s * 1e3:.4g}"
    counts = (count_text(instructions), count_text(cycles))
    times = (time, _per_mac(cost.count, cost.macs))
    memory = (cost.arena_bytes, cost.stack_bytes, cost.run_stack_bytes, cost.code_bytes, cost.constants_bytes)
    sizes = (count_text(size) for size in memory)
    return (
        cost.model,
        cost.board.name,
        *counts,
        *times,
        *sizes,
        "" if cost.compile_s is None else f"{cost.compile_s:.2f}",
    )


def _energy_lines(costs: Sequence[BoardCost]) -> Iterator[str]:
    """Yields the estimated energy of boards whose current is stated, with its source."""
    for cost in costs:
        current = cost.board.run_current
        if current is not None and cost.joules is not None:
            yield (
                f"\nenergy of {cost.model} on {cost.board.name}: about {cost.joules * 1e3:.3g} mJ a run, an "
                f"estimate from the time ({cost.time_source}) and {current.microamps_per_mhz:g} uA/MHz at "
                f"{current.volts:g} V\n  stated for: {current.conditions}\n  source: {current.source}"
            )


def _measured_cycles(cost: BoardCost) -> int | None:
    return cost.count if Meter(cost.board).unit == "cycles" else None


def _cycle_notes(costs: Sequence[BoardCost]) -> list[str]:
    """Explains for each emulated board the source of its cycles, or why there are none."""
    boards = {cost.board.name: cost for cost in costs if is_emulated(cost.board)}
    return [f"cycles on {name}: {_said_of_cycles(cost)}" for name, cost in boards.items()]


def _said_of_cycles(cost: BoardCost) -> str:
    return COUNTED if cost.cores > 1 else lacks(cost.board) or described(cost.board)


def _parts(cost: BoardCost, cycles: ModelCycles) -> tuple[str, ...]:
    whole = cycles.run.count
    return (
        cost.model,
        cost.board.name,
        count_text(whole),
        *(f"{part / whole:.1%}" for part in cycles.run.parts.values()),
    )


def _off(cost: BoardCost, modelled: int) -> tuple[str, ...]:
    measured = _measured_cycles(cost)
    assert measured is not None
    return (
        cost.model,
        cost.board.name,
        count_text(measured),
        count_text(modelled),
        f"{modelled / measured - 1:+.1%}",
    )


def _layers(cost: BoardCost) -> str:
    counted = bool(Meter(cost.board).unit)
    whole = sum(_weight(layer) for layer in cost.layers)
    waited = _waited(cost)
    rows = []
    for each in cost.layers:
        layer, count = each.layer, each.count if counted else None
        what = (str(layer.index), layer.op, layer.shapes, layer.kernel, f"{layer.macs:,}")
        cycles = count_text(each.cycles.count if each.cycles else None)
        share = f"{_weight(each) / whole:.1%}" if whole else "-"
        waits = tuple(count_text(_waits(each, name)) for name in waited)
        rows.append(
            (*what, count_text(count), _per_mac(count, layer.macs), cycles, *waits, share, layer.origin)
        )
    return table((*_LAYER_HEADS[:_WAITS_AT], *waited.values(), *_LAYER_HEADS[_WAITS_AT:]), rows)


def _waited(cost: BoardCost) -> dict[str, str]:
    """Returns columns for flash waits, by field of a layer's cost; {} without waits."""
    columns = {"cycles": "flash waits", "unplaced": "without --place"}
    return {name: head for name, head in columns.items() if any(_waits(each, name) for each in cost.layers)}


def _waits(cost: LayerCost, name: str) -> int | None:
    cycles: Cycles | None = getattr(cost, name)
    return cycles.parts[FLASH_WAITS] if cycles else None


def _weight(layer: LayerCost) -> float:
    """Returns the cost used for percentages: modeled cycles, else time, else instructions."""
    if layer.cycles:
        return layer.cycles.count
    return layer.count if layer.seconds is None else layer.seconds


def _per_mac(count: int | None, macs: int) -> str:
    return "-" if count is None or macs == 0 else f"{count / macs:.2f}"
