"""Minimum and maximum time of each layer over several inputs, a bound, and where they differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from boards.board import Board
from platforms.cycles.estimate import BlockCost, Cycles, block_costs, estimate
from platforms.cycles.model import core_of, flash_of
from platforms.cycles.trace import Trace


@dataclass(frozen=True, slots=True)
class RunTimes:
    """The time of a run on one input."""

    run: Cycles
    layers: Mapping[int, Cycles]
    blocks: Mapping[int, Mapping[int, BlockCost]]  # layer -> address -> cost


@dataclass(frozen=True, slots=True)
class LayerTimes:
    """The times of a layer over all inputs."""

    least: int  # cycles
    most: int
    least_instructions: int
    most_instructions: int
    bound: int  # cycles
    varying: tuple[int, ...]  # addresses of blocks whose number of executions depends on the input

    @property
    def depends_on_data(self) -> bool:
        return bool(self.varying) or self.least != self.most


def run_times(trace: Trace, board: Board) -> RunTimes:
    core, flash = core_of(board), flash_of(board)
    whole = estimate(trace, core, flash)
    return RunTimes(whole.run, whole.layers, block_costs(trace, core, flash))


def times_of_layers(runs: Sequence[RunTimes]) -> dict[int, LayerTimes]:
    """Compares the runs layer by layer."""
    return {
        layer: _times([run.layers[layer] for run in runs], [run.blocks[layer] for run in runs])
        for layer in runs[0].layers
    }


def _times(cycles: Sequence[Cycles], blocks: Sequence[Mapping[int, BlockCost]]) -> LayerTimes:
    counts, instructions = [each.count for each in cycles], [each.instructions for each in cycles]
    addresses = sorted(set().union(*blocks))
    by_address = {a: [each.get(a, BlockCost(0, 0)) for each in blocks] for a in addresses}
    varying = tuple(a for a, costs in by_address.items() if len({cost.executions for cost in costs}) > 1)
    return LayerTimes(
        least=min(counts),
        most=max(counts),
        least_instructions=min(instructions),
        most_instructions=max(instructions),
        bound=sum(_most(costs) for costs in by_address.values()) if varying else max(counts),
        varying=varying,
    )


def _most(costs: Iterable[BlockCost]) -> int:
    each = tuple(costs)
    return max(cost.executions for cost in each) * max(cost.cycles for cost in each)
