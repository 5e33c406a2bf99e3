"""Runs a series of samples on a device and says what the counter saw, in the board's own unit."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from aot.ir.graph import Array
from boards.board import Board
from deploy.device import Device
from deploy.samples import Samples
from deploy.tensors import Slot, remote_slots


@dataclass(frozen=True, slots=True)
class Spread:
    """Several measurements in five numbers."""

    mean: float
    median: float
    min: float
    max: float
    std: float

    def as_json(self) -> dict[str, float]:
        return asdict(self)


def spread(values: Sequence[float]) -> Spread:
    return Spread(
        statistics.fmean(values),
        statistics.median(values),
        min(values),
        max(values),
        statistics.pstdev(values),
    )


@dataclass(frozen=True, slots=True)
class Meter:
    """What a board's counter ticks mean."""

    board: Board

    @property
    def unit(self) -> str:
        """ "instructions", "cycles", or "" where the counter measures nothing but time."""
        counter = self.board.counter
        if counter.instruction_ns is not None:
            return "instructions"
        return "" if counter.driver == "clock" else "cycles"

    def count(self, ticks: int) -> int:
        """Instructions or cycles."""
        counter = self.board.counter
        if counter.instruction_ns is not None:
            return counter.instructions(ticks)
        return round(ticks * self.board.clock_hz / counter.hz)

    def seconds(self, ticks: int) -> float:
        """On an emulated board: as if each instruction took one cycle."""
        if self.unit == "instructions":
            return self.count(ticks) / self.board.clock_hz
        return ticks / self.board.counter.hz


@dataclass(frozen=True)
class Measured:
    """What came out of a series, and what each run took."""

    outputs: tuple[tuple[Array, ...], ...]  # of each sample
    ticks: tuple[int, ...]  # of each run, the measuring itself taken off
    slots: tuple[Slot, ...]

    def stacked(self, samples: Samples) -> dict[str, Array]:
        """output_0, output_1, ...: with an axis for the samples where they are a series."""
        columns = list(zip(*self.outputs, strict=True))
        arrays = (np.stack(column) if samples.is_series else column[0] for column in columns)
        return {f"output_{number}": array for number, array in enumerate(arrays)}


def run_series(device: Device, samples: Samples, repeat: int, on_run: Callable[[str], None]) -> Measured:
    """One sample after the other from the initial state; all of it `repeat` times, each time the same."""
    session, model = device.session, device.model
    inputs, outputs = remote_slots(model.inputs), remote_slots(model.outputs)
    ticks: list[int] = []
    results: list[tuple[Array, ...]] = []
    for _ in range(repeat):
        session.reset()
        results.clear()
        for number, sample in enumerate(samples.each):
            on_run(f"sample {number + 1} of {len(samples)}")
            for index, (slot, array) in enumerate(zip(inputs, sample, strict=True)):
                session.write_input(model, index, slot.to_bytes(array))
            ticks += session.run(model).net_ticks
            results.append(
                tuple(
                    slot.from_bytes(session.read_output(model, index)) for index, slot in enumerate(outputs)
                )
            )
    return Measured(tuple(results), tuple(ticks), outputs)
