"""Detects suspicious samples: constants, clipped values, ranges that do not match the model's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import Array

_CLIPPED = 0.02  # fraction of values at each end of the range that cannot be chance
_SEVERAL = 8  # minimum number of values at each end to draw a conclusion
_CLAMPED = 0.01  # fraction of values beyond the model's range that cannot be noise
_OTHER_SCALE = 8.0  # ratio of the largest values in calibration and example
_OF_RANGE = 0.02  # fraction of the model's range; smaller values were scaled differently

Sample = Mapping[str, Array]


def calibration_doubts(samples: Sequence[Sample], example: Sample | None = None) -> tuple[str, ...]:
    """Returns warnings about samples from which a quantizer determines ranges."""
    return tuple(text for name in samples[0] for text in _of_input(name, samples, example))


def _of_input(name: str, samples: Sequence[Sample], example: Sample | None) -> Iterator[str]:
    values = np.stack([np.asarray(sample[name]) for sample in samples])
    if values.dtype.kind != "f":
        return
    low, high = float(values.min()), float(values.max())
    if low == high:
        yield f'"{name}" is {low:g} everywhere in every sample: a constant gives wrong ranges'
        return
    if len(samples) > 1 and bool((values == values[:1]).all()):
        yield f'all {len(samples)} samples of "{name}" are the same'
    counts = [int((values == end).sum()) for end in (low, high)]
    shares = [count / values.size for count in counts]
    is_picture = low >= 0  # pictures may contain black and white
    if min(counts) >= _SEVERAL and min(shares) > _CLIPPED and not is_picture:
        yield (
            f'{sum(shares):.0%} of "{name}" are {low:g} or {high:g}, the limits of its range: was it clipped?'
        )
    if example is not None:
        yield from _other_scale(name, max(abs(low), abs(high)), np.asarray(example[name]))


def _other_scale(name: str, largest: float, example: Array) -> Iterator[str]:
    its = float(np.abs(example).max(initial=0))
    is_constant = example.size == 0 or bool((example == example.reshape(-1)[0]).all())
    if not is_constant and not 1 / _OTHER_SCALE <= largest / its <= _OTHER_SCALE:
        yield (
            f'"{name}" reaches {largest:.3g} in the calibration and {its:.3g} in the example: '
            "one of them is not scaled like the model's input"
        )


def chance_doubts(right: float | None, classes: int, framework: str) -> tuple[str, ...]:
    """Returns a warning if the model only guesses on its own calibration samples."""
    if right is None or classes < 2 or right >= min(2 / classes, 0.6):
        return ()
    return (
        f"{framework} is right in {right:.0%} of these samples, which is about chance: "
        "are they scaled as in training, and labeled by the model's classes?",
    )


def range_doubts(arrays: Mapping[str, Array], specs: Sequence[TensorSpec]) -> tuple[str, ...]:
    """Returns warnings about floats to be quantized for a model with another range."""
    found = []
    for number, spec in enumerate(specs):
        array: Any = np.asarray(arrays.get(spec.name, arrays.get(f"input_{number}", ())))
        quant = spec.type.quant
        if array.dtype.kind != "f" or not array.size or quant is None or quant.is_per_channel:
            continue
        low, high = ((limit - quant.zero_point) * float(quant.scale) for limit in spec.type.dtype.limits)
        step = float(quant.scale)
        share = float(((array < low - step) | (array > high + step)).mean())
        span = float(array.max() - array.min())
        if share > _CLAMPED:
            found.append(
                f'{share:.0%} of "{spec.name}" are beyond {low:.3g} to {high:.3g}, the range of the model, '
                "and are clamped: are they scaled like the calibration data?"
            )
        elif 0 < span < _OF_RANGE * (high - low):
            found.append(
                f'"{spec.name}" has values from {array.min():.3g} to {array.max():.3g}, the model\'s '
                "range is "
                f"{low:.3g} to {high:.3g}: are they scaled like the calibration data?"
            )
    return tuple(found)
