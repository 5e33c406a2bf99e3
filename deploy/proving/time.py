"""The chapter on time: cycles of each layer for very different inputs, and a bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aot.errors import ToolError
from aot.ir.graph import Graph
from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import Array
from aot.wording import counted
from boards.board import Board
from codegen.model import LayerInfo
from deploy.benchmark.cycle_model import recorded_run
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import Ready
from deploy.inputs.samples import random_samples
from deploy.proving.chapter import Cell, Finding, Standing, Table, not_run
from deploy.proving.machine.build import built, obstacle_to_building
from deploy.proving.machine.program import LinkedProgram
from deploy.proving.subject import Subject
from deploy.proving.sum_range import ProductSums, sum_range
from platforms.cycles.estimate import BlockCost, Cycles, block_costs, estimate
from platforms.cycles.model import core_of, described, flash_of, lacks
from platforms.cycles.trace import Trace

# Inputs that may minimize or maximize a model's run time: ends of the range, and the weights' signs.

_REAL_ENDS = (-1000.0, 1000.0)  # for floats: their exponentials under- and overflow


def adversarial_inputs(graph: Graph, specs: Sequence[TensorSpec]) -> dict[str, tuple[Array, ...]]:
    """Returns samples by description, in a fixed order."""
    ends = [_ends(spec) for spec in specs]
    low, high = (
        tuple(np.full(s.shape, e[n], s.dtype) for s, e in zip(specs, ends, strict=True)) for n in (0, 1)
    )
    found = {
        "the least values": low,
        "the greatest values": high,
        "both in turn": tuple(
            np.resize(np.array(e, s.dtype), s.shape) for s, e in zip(specs, ends, strict=True)
        ),
        "zeros": tuple(np.full(s.shape, _zero(s), s.dtype) for s in specs),
    }
    found |= dict(_by_signs(graph, specs))
    return found | {"random values": random_samples(specs, 1).each[0]}


def _ends(spec: TensorSpec) -> tuple[float, float]:
    return spec.type.dtype.limits if spec.type.dtype.is_integer else _REAL_ENDS


def _zero(spec: TensorSpec) -> int:
    quant = spec.type.quant
    return int(quant.zero_point) if quant is not None else 0


def _by_signs(graph: Graph, specs: Sequence[TensorSpec]) -> Iterator[tuple[str, tuple[Array, ...]]]:
    """Yields the inputs for which a channel of the first layer has its greatest and its least sum."""
    names = {spec.name for spec in specs}
    first = next((node for node in graph.nodes if names & set(node.inputs)), None)
    sums = None if first is None else sum_range(graph, first)
    if sums is None or len(specs) != 1 or not specs[0].type.dtype.is_integer:
        return
    for words, channel, upper in (
        ("the greatest sum of the first layer", int(sums.greatest.argmax()), True),
        ("the least sum of the first layer", int(sums.least.argmin()), False),
    ):
        yield words, (_pattern(sums, channel, upper, specs[0]),)


def _pattern(sums: ProductSums, channel: int, upper: bool, spec: TensorSpec) -> Array:
    """Returns the signs of the channel's weights, repeated over the input."""
    least, greatest = sums.limits
    positive = (sums.weights[channel] > 0) == upper
    return np.resize(np.where(positive, greatest, least).astype(spec.dtype), spec.shape)


# Minimum and maximum time of each layer over several inputs, a bound, and where they differ.


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


_METHOD = (
    "The firmware runs in an emulator, which records every basic block, on each of the inputs of the first "
    "table. The model of cycles weights them with the core's table and the memory's waits; instructions are "
    "counted. The build reports each layer's rows; what that takes is left out.",
    "A layer that executes the same blocks on all inputs takes that time. The bound of another takes of each "
    "block the most executions and the most cycles of all inputs, and adds them up: where some values go one "
    "way and others the other, both count for all values.",
    "Time depends on data where a compiler makes a jump of a comparison of values; the functions that hold "
    "such jumps are named.",
)
_NO_PROOF = "that no other input takes another way rests on the inputs that were tried, and is not proven"


def examine_time(subject: Subject) -> Finding:
    """Runs the inputs. Raises MissingToolError without a compiler."""
    if why := obstacle_to_building(subject):
        return not_run(why)
    assert subject.board is not None  # checked by obstacle_to_building()
    if why := lacks(subject.board):
        return not_run(why)
    ready, artifact = built(subject, profile=True), subject.artifact
    inputs = adversarial_inputs(artifact.graph, [TensorSpec(t.name, t.type) for t in artifact.facts.inputs])
    runs = {what: _run(ready, sample) for what, sample in inputs.items()}
    layers = times_of_layers(tuple(runs.values()))
    if unseen := [info.name for info in artifact.facts.layers if info.index not in layers]:
        raise ToolError(f"the emulator recorded no instruction of {', '.join(unseen)}")
    tables = (_inputs(runs), _layers(artifact.facts.layers, layers))
    method = (*_METHOD, f"It is {described(ready.board)}.")
    summary = _summary([run.run.count for run in runs.values()], layers)
    exceptions = (*_exceptions(artifact.facts.layers, layers, LinkedProgram(ready.built.elf)), _NO_PROOF)
    return Finding(Standing.EXCEPTIONS, summary, exceptions, method, tables, (str(ready.built.toolchain),))


def _run(ready: Ready, sample: Sequence[Array]) -> RunTimes:
    return run_times(recorded_run(ready, LineOptions(), sample), ready.board)


def _summary(cycles: Sequence[int], layers: Mapping[int, LayerTimes]) -> str:
    varying = sum(each.depends_on_data for each in layers.values())
    bound = max(cycles) + sum(each.bound - each.most for each in layers.values())
    return (
        f"{min(cycles):,} to {max(cycles):,} cycles on {counted(len(cycles), 'input')}, {bound:,} for any "
        f"mixture of the ways taken; in {varying} of {counted(len(layers), 'layer')} time depends on data"
    )


def _exceptions(
    infos: Sequence[LayerInfo], layers: Mapping[int, LayerTimes], program: LinkedProgram
) -> Iterator[str]:
    """Yields a sentence for each layer whose time varies, with the functions responsible."""
    for info in infos:
        times = layers.get(info.index)
        if times is None or not times.depends_on_data:
            continue
        functions = dict.fromkeys(program.holder_of(address) for address in times.varying)
        where = f"jumps in {', '.join(functions)}" if functions else "waits for memory"
        yield (
            f"layer {info.index} ({info.origin or info.name}), {info.op}: {times.least:,} to {times.most:,} "
            f"cycles, {times.bound:,} by the bound: {where}"
        )


def _inputs(runs: Mapping[str, RunTimes]) -> Table:
    rows = [(what, times.run.instructions, times.run.count) for what, times in runs.items()]
    return Table("Inputs", ("input", "instructions executed", "cycles by the model"), rows)


def _layers(infos: Sequence[LayerInfo], layers: Mapping[int, LayerTimes]) -> Table:
    rows = [_row(info, layers[info.index]) for info in infos if info.index in layers]
    columns = (
        "layer",
        "op",
        "in the model file",
        "fewest instructions",
        "most instructions",
        "least cycles",
        "most cycles",
        "bound",
        "time depends on data",
    )
    return Table("Layers", columns, rows)


def _row(info: LayerInfo, times: LayerTimes) -> tuple[Cell, ...]:
    return (
        info.index,
        info.op,
        info.origin or info.name,
        times.least_instructions,
        times.most_instructions,
        times.least,
        times.most,
        times.bound,
        "yes" if times.depends_on_data else "no difference found",
    )
