"""The accuracy and the performance mode of MLPerf Tiny's runner."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from aot.errors import BoardError
from deploy.silicon.mlperf_device import Inferences, MlperfDevice
from deploy.silicon.mlperf_samples import Quality, Sample, quality_of
from platforms.mlperf_tiny import Benchmark
from platforms.transport.base import Transport

WINDOWS = 5  # as the benchmark wants
WINDOW_S = 10.0  # the shortest window that it accepts
_WARMUPS = 10
_MARGIN = 1.1
_MOST_RUNS = 10_000_000
_US = 1e-6


@dataclass(slots=True)
class Mode:
    """What a mode measured, and what passed over the line."""

    name: str
    log: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    results: list[dict[str, Any]] = field(default_factory=list)

    def say(self, line: str) -> None:
        self.text.append(f"{datetime.now(timezone.utc):%m%d.%H%M%S} solder: {line}")

    def add(self, sample: Sample, found: Inferences) -> None:
        columns = ("file", "classes", "class", "bytes_to_send", "stride")
        infer = {
            "results": found.results,
            "start_time": found.start_us,
            "end_time": found.end_us,
            "elapsed_time": found.elapsed_us,
            "total_inferences": 1,  # vectors of results
            "iterations": found.iterations,
            "warmups": found.warmups,
            "throughput": throughput(found),
        }
        named = dict(zip(columns, sample.columns, strict=False))
        self.results.append({**named, "infer": infer, "mode": self.name[0]})

    @property
    def files(self) -> dict[str, str]:
        """The files of this mode in a submission."""
        return {
            "log.txt": "".join(f"{line}\n" for line in [*self.log, *self.text]),
            "results.txt": "".join(f"{line}\n" for line in self.text),
            "results.json": json.dumps(self.results),
        }


@dataclass(frozen=True, slots=True)
class Measured:
    """The figures of a model in a benchmark."""

    quality: Quality
    per_second: float  # the median of the windows
    windows: tuple[Inferences, ...]
    modes: tuple[Mode, ...]


def measure(
    line: Transport,
    benchmark: Benchmark,
    samples: Sequence[Sample],
    on_step: Callable[[str], None],
) -> Measured:
    """Runs all samples once, and then the first ones again and again. Raises DeviceError, BoardError."""
    accuracy, performance = Mode("accuracy"), Mode("performance")
    device = MlperfDevice(line, accuracy.log.append)
    if device.model != benchmark.model:
        raise BoardError(f"the firmware is for {device.model}, not for {benchmark.model}", line.name)
    results, times = [], []
    for sample in samples:
        on_step(sample.file)
        found = [_inferred(device, window) for window in sample.windows]
        results.append([each.results for each in found])
        for each in found:
            accuracy.add(sample, each)
        times += [max(each.elapsed_us, 1) * _US for each in found]
    quality = quality_of(samples, results)
    accuracy.say(f"Top 1% = {quality.top1_percent:.1f}")
    if quality.auc is not None:
        accuracy.say(f"AUC = {quality.auc:.3f}")
    device.log = performance.log.append
    windows: list[Inferences] = []
    run_s = statistics.median(times)
    for number in range(WINDOWS):
        sample = samples[number % len(samples)]
        on_step(f"window {number + 1} of {WINDOWS}")
        device.load(sample.windows[0])
        windows.append(_window(device, run_s))
        run_s = 1 / throughput(windows[-1])
        performance.add(sample, windows[-1])
        performance.say(f"{windows[-1].iterations} inferences in {windows[-1].elapsed_us * _US:.3f} s")
    per_second = statistics.median(throughput(each) for each in windows)
    performance.say(f"Median throughput is {per_second:>10.3f} inf./sec.")
    return Measured(quality, per_second, tuple(windows), (accuracy, performance))


def _inferred(device: MlperfDevice, window: bytes) -> Inferences:
    device.load(window)
    return device.infer(1, 0)


def _window(device: MlperfDevice, run_s: float) -> Inferences:
    """Runs the loaded sample for at least WINDOW_S. A run takes about `run_s`."""
    runs = 0
    while True:
        runs = max(runs + 1, math.ceil(_MARGIN * WINDOW_S / run_s))
        if runs > _MOST_RUNS:
            raise BoardError(f"the counter of this board does not run: {_MOST_RUNS:,} runs take no time")
        found = device.infer(runs, _WARMUPS, (runs + _WARMUPS) * run_s)
        if found.elapsed_us * _US >= WINDOW_S:
            return found
        run_s = max(found.elapsed_us, 1) * _US / runs


def throughput(found: Inferences) -> float:
    """Returns inferences per second."""
    return found.iterations / (max(found.elapsed_us, 1) * _US)
