"""Runs a series of samples on a device and measures each run in the board's unit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import Array
from deploy.cli.console import progress
from deploy.devices.session import Device
from deploy.inputs.samples import Samples


@dataclass(frozen=True)
class Measured:
    """The outputs of a series, and the ticks of each run."""

    outputs: tuple[tuple[Array, ...], ...]  # by sample
    ticks: tuple[int, ...]  # by run, without measurement overhead
    specs: tuple[TensorSpec, ...]

    def stacked(self, samples: Samples) -> dict[str, Array]:
        """Returns the outputs as output_0, output_1, ...; with a sample axis for a series."""
        columns = zip(*self.outputs, strict=True)
        return {f"output_{number}": samples.stacked(column) for number, column in enumerate(columns)}


def run_series(device: Device, samples: Samples, repeat: int = 1, title: str = "running") -> Measured:
    """Runs all samples from the initial state, `repeat` times. The outputs are the same each time."""
    ticks: list[int] = []
    with progress(title, len(samples) * repeat) as bar:
        for _ in range(repeat):
            device.session.reset()
            measured = run_on(device, samples, bar.step)
            ticks += measured.ticks
    return Measured(measured.outputs, tuple(ticks), measured.specs)


def run_on(device: Device, samples: Samples, on_run: Callable[[str], None] | None = None) -> Measured:
    """Runs all samples once, continuing from the last run's state."""
    session, model = device.session, device.model
    ticks: list[int] = []
    results: list[tuple[Array, ...]] = []
    for number, sample in enumerate(samples.each):
        if on_run is not None:
            on_run(f"sample {number + 1} of {len(samples)}")
        for index, (spec, array) in enumerate(zip(model.inputs, sample, strict=True)):
            session.write_input(model, index, spec.to_bytes(array))
        ticks += session.run(model).net_ticks
        read = (session.read_output(model, index) for index in range(len(model.outputs)))
        results.append(tuple(spec.from_bytes(data) for spec, data in zip(model.outputs, read, strict=True)))
    return Measured(tuple(results), tuple(ticks), model.outputs)
