"""The chapter on time: cycles of each layer for very different inputs, and a bound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from aot.counted import counted
from aot.errors import ToolError
from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import Array
from codegen.model import LayerInfo
from deploy.benchmark.cycle_model import recorded_run
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import Ready
from deploy.proving.chapter import Cell, Finding, Standing, Table, not_run
from deploy.proving.machine.build import built, obstacle_to_building
from deploy.proving.machine.program import LinkedProgram
from deploy.proving.subject import Subject
from deploy.proving.timing.inputs import adversarial_inputs
from deploy.proving.timing.layer_times import LayerTimes, RunTimes, run_times, times_of_layers
from platforms.cycles.model import described, lacks

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
