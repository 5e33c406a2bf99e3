"""Tries modified weights for the same float model that may lose less by rounding, and keeps the best."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aot.frontend.onnx.float_layers import (
    narrowed,
    with_corrected_biases,
    with_differences,
    with_like_ranges,
    with_values_between,
)
from aot.ir.types import Array

Answers = Callable[
    [bytes, Sequence[str]], Iterator[Mapping[str, Array]]
]  # (model, outputs) -> outputs of each sample
WAYS = ("as it is", "balanced ranges", "corrected biases", "both")


@dataclass(frozen=True, slots=True)
class Refinement:
    """A variant that was tried, and the outputs' signal-to-noise ratio."""

    name: str
    signal_to_noise_db: float
    is_kept: bool


@dataclass(frozen=True, slots=True)
class WeightVariant:
    """A model to quantize, and the float model that defines its results and ranges."""

    model: bytes
    real: bytes


def ways(data: bytes, narrow: Collection[str], answers: Answers) -> Mapping[str, WeightVariant]:
    """Returns the variants of a model by modification; `narrow` weights get four bits."""
    alike = _with_like_ranges(data, answers)
    variants = (
        WeightVariant(data, data),
        WeightVariant(alike, alike),
        WeightVariant(_with_corrected_biases(data, narrow, answers), data),
        WeightVariant(_with_corrected_biases(alike, narrow, answers), alike),
    )
    return dict(zip(WAYS, variants, strict=True))


def _with_like_ranges(data: bytes, answers: Answers) -> bytes:
    watched, names = with_values_between(data)
    if not names:
        return data
    largest: dict[str, Array] = {}
    for sample in answers(watched, names):
        for name, value in sample.items():
            seen = np.abs(value).max(axis=_but_channels(value))
            largest[name] = np.maximum(largest.get(name, seen), seen)
    return with_like_ranges(data, largest)


def _with_corrected_biases(data: bytes, narrow: Collection[str], answers: Answers) -> bytes:
    watched, layers = with_differences(data, narrowed(data, narrow)[0])
    if not layers:
        return data
    sums: dict[str, Array] = {}
    count = 0
    for sample in answers(watched, tuple(layers)):
        count += 1
        for name, value in sample.items():
            mean = value.astype(np.float64).mean(axis=_but_channels(value))
            sums[name] = np.add(sums.get(name, np.zeros_like(mean)), mean)
    return with_corrected_biases(
        data, {layers[name]: np.divide(total, count) for name, total in sums.items()}
    )


def _but_channels(value: Array) -> tuple[int, ...]:
    return tuple(axis for axis in range(value.ndim) if axis != 1)
