"""Inputs that may minimize or maximize a model's run time: ends of the range, and the weights' signs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from aot.ir.graph import Graph
from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import Array
from deploy.inputs.samples import random_samples
from deploy.proving.sum_range import ProductSums, sum_range

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
