"""Runs float and quantized models on samples, and measures the distance of their outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aot.ir.graph import State
from aot.ir.types import Array
from deploy.quantization.refined_weights import Answers
from deploy.verification.quality import is_of_classes


def answers_of(
    place: Path, samples: Sequence[Mapping[str, Array]], open_session: Callable[[Path], Any]
) -> Answers:
    """Returns a function that runs a model, written to file `place`, on each sample."""

    def run(data: bytes, names: Sequence[str]) -> Iterator[Mapping[str, Array]]:
        place.write_bytes(data)
        session = open_session(place)
        for sample in samples:
            yield dict(zip(names, session.run(list(names), dict(sample)), strict=True))

    return run


def outputs_of(session: Any, samples: Sequence[Mapping[str, Array]]) -> list[Array]:
    """Returns all float outputs of a model for all samples."""
    found = (output for sample in samples for output in session.run(None, dict(sample)))
    return [np.asarray(output, np.float64) for output in found if output.dtype.kind == "f"]


def in_sequence(
    session: Any, samples: Sequence[Mapping[str, Array]], states: Sequence[State]
) -> Iterator[tuple[Mapping[str, Array], Mapping[str, Array]]]:
    """Yields the inputs, states among them, and the results of each sample: the next one finds its states."""
    names = [each.name for each in session.get_outputs()]
    kept = {each.name: each.initial for each in states}
    for sample in samples:
        given = {**sample, **kept}
        made = dict(zip(names, session.run(None, given), strict=True))
        kept = {each.name: made[each.next] for each in states}
        yield given, made


def noise_of(wanted: Sequence[Array], found: Sequence[Array]) -> float:
    """Returns the energy of the difference, relative to that of the wanted values."""
    signal = sum(float(np.square(each).sum()) for each in wanted)
    noise = sum(float(np.square(np.subtract(a, b)).sum()) for a, b in zip(wanted, found, strict=True))
    return noise / signal if signal else noise


def decibels(noise: float) -> float:
    return float(-10 * np.log10(noise)) if noise else float("inf")


def classes_of(session: Any, samples: Sequence[Mapping[str, Array]]) -> Array | None:
    """Returns the index of the largest value in the first output by sample, or None if it has no classes."""
    outputs = [session.run(None, dict(sample))[0] for sample in samples]
    if not all(is_of_classes(output.shape) for output in outputs):
        return None
    return np.array([int(np.argmax(output)) for output in outputs])
