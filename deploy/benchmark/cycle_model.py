"""Estimates the cycles of a compiled model from a recorded run and the timing of the core and memory."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aot.ir.types import Array
from artifact.artifact import Artifact
from boards.board import Board
from deploy.devices.buildable_boards import require_board
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import Ready, build_source
from deploy.devices.session import Device, device_on
from deploy.inputs.samples import random_samples
from platforms.base import BuildChoices
from platforms.cycles.estimate import Cycles, Estimate, estimate
from platforms.cycles.model import core_of, described, flash_of
from platforms.cycles.recording import open_recorded
from platforms.cycles.stand_in import stand_in
from platforms.cycles.trace import Trace, load_trace
from platforms.project import project_source


@dataclass(frozen=True, slots=True)
class ModelCycles:
    """The estimated cycles of a model on a board."""

    board: Board
    run: Cycles
    layers: Mapping[int, Cycles]  # by index, from a build that reports each row; if requested

    @property
    def seconds(self) -> float:
        return self.run.count / self.board.clock_hz

    def as_json(self) -> dict[str, Any]:
        return {
            "cycles": self.run.count,
            "clock_hz": self.board.clock_hz,
            "parts": dict(self.run.parts),
            "model": described(self.board),
        }


def model_cycles(
    artifact: Artifact, board: Board, toolchain: str | None, line: LineOptions, layers: bool
) -> ModelCycles:
    """Runs the model on random inputs in a recording emulator."""
    require_board(board)
    source, emulated = project_source(artifact), stand_in(board)
    run = _estimate(
        build_source(source, emulated, BuildChoices(toolchain)), line, random_sample(artifact)
    ).run
    if not layers:
        return ModelCycles(board, run, {})
    return ModelCycles(board, run, layer_cycles(artifact, board, toolchain, line))


def layer_cycles(
    artifact: Artifact, board: Board, toolchain: str | None, line: LineOptions
) -> Mapping[int, Cycles]:
    """Returns the cycles by layer index, from a build that reports each row."""
    choices = BuildChoices(toolchain, profile=True)
    ready = build_source(project_source(artifact), stand_in(board), choices)
    return _estimate(ready, line, random_sample(artifact)).layers


def random_sample(artifact: Artifact) -> Sequence[Array]:
    """Returns random inputs within the limits of positions, which a device does not report."""
    return random_samples(artifact.facts.inputs, 1).each[0]


def cycles_of_sample(ready: Ready, sample: Sequence[Array], line: LineOptions) -> ModelCycles:
    """Runs built firmware again on this sample, in a recording emulator."""
    return ModelCycles(ready.board, _estimate(ready, line, sample).run, {})


def _estimate(ready: Ready, line: LineOptions, sample: Sequence[Array]) -> Estimate:
    return estimate(recorded_run(ready, line, sample), core_of(ready.board), flash_of(ready.board))


def recorded_run(ready: Ready, line: LineOptions, sample: Sequence[Array]) -> Trace:
    """Records a run of built firmware in an emulator, on this sample."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.npz"
        recorded = open_recorded(ready.built, ready.board, f"{ready.model_name}_run", file)
        with device_on(recorded, ready, replace(line, trace=None, port=None)) as device:
            _run(device, sample, ready.built.profile)
        return load_trace(file)


def _run(device: Device, sample: Sequence[Array], profile: bool) -> None:
    session, model = device.session, device.model
    inputs = [spec.to_bytes(array) for spec, array in zip(model.inputs, sample, strict=True)]
    if profile:
        session.profile(model, inputs)
        return
    session.reset()
    for index, data in enumerate(inputs):
        session.write_input(model, index, data)
    session.run(model)
