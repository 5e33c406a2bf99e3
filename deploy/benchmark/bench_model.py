"""Measures a model's cost on a board: instructions, cycles, RAM, flash and compile time."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

from aot.errors import InputError
from aot.ir.tensor_spec import TensorSpec
from artifact.archive import is_archive
from artifact.artifact import Artifact
from boards.board import Board
from codegen.job import import_model
from codegen.model import LayerInfo
from codegen.options import CompileOptions
from deploy.benchmark.cycle_model import ModelCycles, layer_cycles, model_cycles
from deploy.benchmark.meter import Meter, is_emulated, require_clock
from deploy.benchmark.run_series import run_series
from deploy.compiler.compile_model import Compiled, compile_for_firmware, compile_on
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import (
    Prepared,
    build,
    build_source,
    moved_to,
    prepare,
    prepare_compiled,
    ready_for,
)
from deploy.devices.project_archive import require_archive
from deploy.devices.session import open_device
from deploy.inputs.samples import random_samples
from platforms.base import BuildChoices
from platforms.cycles.estimate import Cycles
from platforms.cycles.model import lacks
from platforms.elf import sizes
from platforms.project import App, project_source
from platforms.runners.runner import ATTACH
from platforms.stack_depth import run_stack


@dataclass(frozen=True, slots=True)
class LayerCost:
    """The cost of one layer in a run."""

    layer: LayerInfo
    count: int  # instructions or cycles
    seconds: float | None  # measured; None on a board that counts instructions
    cycles: Cycles | None  # from the cycle model, or None
    unplaced: Cycles | None = None  # the same with all constants in flash, if --place has moved some


@dataclass(frozen=True, slots=True)
class BoardCost:
    """The cost of a model on a board."""

    model: str
    board: Board
    count: int | None  # instructions or cycles; None if the board counts neither
    seconds: float | None  # measured; None on a board that counts instructions
    macs: int
    arena_bytes: int
    io_bytes: int  # of inputs and outputs in the caller's memory
    stack_bytes: int | None  # measured by painting, including the timing loop; None if not supported
    run_stack_bytes: int | None  # upper bound from the compiler, or None
    code_bytes: int | None  # None for the user's own firmware
    constants_bytes: int
    compile_s: float | None  # None for an archive
    toolchain: str  # "" for the user's own firmware
    layers: tuple[LayerCost, ...]  # if requested
    cycles: ModelCycles | None = None  # from the cycle model, if requested
    cores: int = 1  # number of cores that compute it

    @property
    def time_s(self) -> float | None:
        """The time of a run: measured, or else from the cycle model; None if neither is known."""
        return self.cycles.seconds if self.seconds is None and self.cycles else self.seconds

    @property
    def time_source(self) -> str:
        """The source of the time: "measured", "cycle model" or "unknown"."""
        if self.seconds is not None:
            return "measured"
        return "cycle model" if self.cycles else "unknown"

    @property
    def joules(self) -> float | None:
        """The energy of a run, estimated from the stated current of the board; None without a statement."""
        current = self.board.run_current
        if current is None or self.time_s is None or self.cores > 1:
            return None
        return current.joules(self.time_s * self.board.clock_hz)

    def as_json(self) -> dict[str, Any]:
        unit = Meter(self.board).unit
        facts: dict[str, Any] = {
            "model": self.model,
            "board": self.board.name,
            **({unit: self.count} if unit else {}),
            "time_s": self.time_s,
            "time_source": self.time_source,
            "macs": self.macs,
            "arena_bytes": self.arena_bytes,
            "io_bytes": self.io_bytes,
            "stack_bytes": self.stack_bytes,
            "run_stack_bytes": self.run_stack_bytes,
            "code_bytes": self.code_bytes,
            "constants_bytes": self.constants_bytes,
            "compile_s": None if self.compile_s is None else round(self.compile_s, 3),
            **({"cores": self.cores} if self.cores > 1 else {}),
            "toolchain": self.toolchain,
        }
        facts |= {"cycle_model": self.cycles.as_json()} if self.cycles else {}
        if self.joules is not None and (current := self.board.run_current):
            facts["energy"] = {"joules": self.joules, "is_estimate": True, **asdict(current)}
        return facts | ({"layers": [_layer_json(cost, unit) for cost in self.layers]} if self.layers else {})


def _layer_json(cost: LayerCost, unit: str) -> dict[str, Any]:
    layer, cycles = cost.layer, cost.cycles
    facts = {"index": layer.index, "op": layer.op, "origin": layer.origin, "shapes": layer.shapes}
    return facts | {
        "kernel": layer.kernel,
        "macs": layer.macs,
        unit or "time_s": cost.count if unit else cost.seconds,
        **({"cycle_model": {"cycles": cycles.count, "parts": dict(cycles.parts)}} if cycles else {}),
    }


class Modelled(Enum):
    """The boards whose cycles are estimated with the cycle model."""

    NONE = "none"
    EMULATED = "emulated"  # boards that only count instructions
    ALL = "all"


@dataclass(frozen=True, slots=True)
class BenchChoices:
    """The user's options for measuring."""

    options: CompileOptions
    build: BuildChoices
    line: LineOptions
    repeat: int
    layers: bool
    cycles: Modelled = Modelled.NONE


def measure_file(path: Path, board: Board, choices: BenchChoices) -> BoardCost:
    """Compiles a model file, writes its archive, and measures it. Both count as compile time.

    An archive is measured without compiling.
    """
    if is_archive(path) or path.is_dir():
        return measure(moved_to(prepare(path, board.name, choices.options), board), None, choices)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        compiled = compile_for_firmware(import_model(path, choices.options), board, choices.options)
        compiled.save(Path(folder) / "out.tar")
        compile_s = time.perf_counter() - start
    return measure(prepare_compiled(compiled), compile_s, choices)


def measure(prepared: Prepared, compile_s: float | None, choices: BenchChoices) -> BoardCost:
    """Runs the model on random inputs in newly built or running firmware; the median run counts."""
    if isinstance(prepared.source, Path):
        prepared = replace(prepared, artifact=require_archive(prepared.source))
    board, artifact = prepared.board, prepared.artifact
    assert artifact is not None  # of all other sources
    require_clock(board)
    is_own = choices.line.runner == ATTACH
    if is_own and choices.layers:
        raise InputError(
            "--layers needs firmware built by deploy; it cannot measure firmware that is already running",
            board.name,
            "omit --layers, or --runner attach",
        )
    ready = ready_for(prepared, choices.build, choices.line.runner)
    with open_device(ready, choices.line) as device:
        ticks = statistics.median_low(
            run_series(device, random_samples(artifact.facts.inputs, 1), choices.repeat).ticks
        )
        stack_bytes = device.session.stats().stack_used_by_runs
        board, arena_bytes = device.board, device.model.arena_bytes
    meter, facts = Meter(board), artifact.facts
    cycles = None if is_own else _cycles(artifact, board, choices)
    depth = None if is_own else run_stack(ready.built, ready.model_name)
    return BoardCost(
        model=facts.name,
        board=board,
        count=meter.count(ticks) if meter.unit else None,
        seconds=meter.measured_seconds(ticks),
        macs=facts.macs,
        arena_bytes=arena_bytes if is_own else facts.arena_bytes,
        io_bytes=facts.io_bytes_beside,
        stack_bytes=stack_bytes or None,
        run_stack_bytes=depth.bytes if depth else None,
        code_bytes=None if is_own else _code_bytes(artifact, board, choices.build),
        constants_bytes=facts.constants_bytes,
        compile_s=compile_s,
        toolchain="" if is_own else str(ready.built.toolchain),
        layers=_layer_costs(prepared, facts.inputs, board, choices, cycles) if choices.layers else (),
        cycles=cycles,
        cores=facts.options.cores,
    )


def _cycles(artifact: Artifact, board: Board, choices: BenchChoices) -> ModelCycles | None:
    wanted = choices.cycles is Modelled.ALL or (choices.cycles is Modelled.EMULATED and is_emulated(board))
    if not wanted or lacks(board) or artifact.facts.options.cores > 1:
        return None
    return model_cycles(artifact, board, choices.build.toolchain, choices.line, choices.layers)


def _code_bytes(artifact: Artifact, board: Board, build: BuildChoices) -> int:
    """Returns the code size of firmware that only runs the model, including startup and C library code."""
    ready = build_source(project_source(artifact), board, build, App.STANDALONE)
    return sizes(ready.built.elf).code - artifact.facts.constants_bytes


def _layer_costs(
    prepared: Prepared,
    inputs: Sequence[TensorSpec],
    board: Board,
    choices: BenchChoices,
    cycles: ModelCycles | None,
) -> tuple[LayerCost, ...]:
    meter = Meter(board)
    ready = build(replace(prepared, board=board), replace(choices.build, profile=True))
    with open_device(ready, choices.line) as device:
        specs = device.model.inputs
        (sample,) = random_samples(inputs, 1).each
        data = [spec.to_bytes(array) for spec, array in zip(specs, sample, strict=True)]
        profile = device.session.profile(device.model, data)
    by_model = cycles.layers if cycles else {}
    unplaced = _unplaced_layers(prepared.compiled, board, choices) if by_model else {}
    return tuple(
        LayerCost(
            layer,
            meter.count(found.ticks),
            meter.measured_seconds(found.ticks),
            by_model.get(layer.index),
            unplaced.get(layer.index),
        )
        for layer, found in zip(prepared.layers, profile, strict=True)
    )


def _unplaced_layers(compiled: Compiled | None, board: Board, choices: BenchChoices) -> Mapping[int, Cycles]:
    """Returns the cycles by layer without placed constants, or {} if none were placed."""
    if compiled is None:  # an archive contains only the plan
        return {}
    placement, job = compiled.artifact.facts.placement, compiled.job
    if placement is None or not placement.layers:
        return {}
    before = compile_on(board, replace(job, options=replace(job.options, place=False)))
    return layer_cycles(before.artifact, board, choices.build.toolchain, choices.line)
