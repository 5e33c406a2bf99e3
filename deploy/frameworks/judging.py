"""Verifies an exported model against the framework: several inputs, each run twice, and a tolerance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from aot.errors import ToolError
from aot.interpret import run_graph, run_series
from aot.ir.graph import Graph
from aot.ir.types import Array
from deploy.frameworks.framework import FrameworkModel, Sample

_STEPS = 21  # minimum number of consecutive runs of a model with states
_SAMPLES = 4  # maximum number of the user's samples; generated inputs are compared in addition
_FLOAT_LIMIT = 1e-3  # relative to the largest value of an output
_QUANTIZED_LIMIT = 5e-2  # larger, because values between two steps may be rounded either way
_NOTHING = 1e-6  # smaller distances count as equal


@dataclass(frozen=True, slots=True)
class Judgement:
    """The largest distance found between the framework's outputs and those of the exported model."""

    distance: float
    limit: float  # relative to the output's largest value
    inputs: int  # number of inputs compared


def judge(opened: FrameworkModel, framework: str, graph: Graph, samples: Sequence[Sample]) -> Judgement:
    """Compares outputs on samples and generated inputs. Raises ToolError if they differ too much."""
    tried = [(f"sample {number}", sample) for number, sample in enumerate(samples[:_SAMPLES])]
    tried += [(name, sample) for name, sample in invented(samples[0]) if _is_usable(opened, sample)]
    if graph.states:
        tried = [(f"step {step}", tried[step % len(tried)][1]) for step in range(max(_STEPS, len(tried)))]
    expected = _asked_twice(opened, framework, tried, has_states=bool(graph.states))
    limit, largest = _QUANTIZED_LIMIT if is_quantized(graph) else _FLOAT_LIMIT, 0.0
    inputs = [sample for _, sample in tried]
    found = run_series(graph, inputs) if graph.states else (run_graph(graph, each) for each in inputs)
    for (name, _), mine, theirs in zip(tried, found, expected, strict=True):
        for ours, output in zip(mine.values(), theirs, strict=False):
            if ours.size != output.size:
                continue  # for two classes, scikit-learn returns one score, its file two
            distance, allowed = _distance(ours, output), limit * _largest(output) + _NOTHING
            largest = max(largest, distance)
            if not distance <= allowed:
                raise ToolError(
                    f"the exported model computes something different: an output is {distance:.3g} away from "
                    f"{framework}'s, the limit is {allowed:.2g} ({limit:.1%} of its largest value)",
                    f"{opened.name}, input: {name}",
                    "check whether the model depends on anything but its input, or on the values of the "
                    "example\n"
                    "or export it yourself, compare the file with the model, then compile the file",
                )
    return Judgement(largest, limit, len(tried))


def is_quantized(graph: Graph) -> bool:
    return any(each.quant is not None for each in graph.types.values())


def invented(sample: Sample) -> Iterator[tuple[str, Sample]]:
    """Yields generated inputs of the same shapes: noise like the sample, negated noise, and zeros."""
    rng = np.random.default_rng(0)
    noise = {name: _noise_like(array, rng) for name, array in sample.items()}
    yield "noise", noise
    yield "negated noise", {name: _negated(array) for name, array in noise.items()}
    yield "zeros", {name: _least(array) for name, array in sample.items()}


def _noise_like(array: Array, rng: np.random.Generator) -> Array:
    """Returns noise: floats with the sample's mean and spread, integers within its range."""
    if array.dtype.kind != "f":
        return rng.integers(int(array.min()), int(array.max()) + 1, array.shape).astype(array.dtype)
    spread = float(array.std()) or 1.0
    noise: Array = array.mean() + spread * rng.normal(size=array.shape)
    return noise.astype(array.dtype)


def _negated(array: Array) -> Array:
    """Negates floats. Integers may be indices, so they are reversed instead."""
    return np.negative(array) if array.dtype.kind == "f" else np.flip(array).copy()


def _least(array: Array) -> Array:
    return np.zeros_like(array) if array.dtype.kind == "f" else np.full_like(array, array.min())


def _is_usable(opened: FrameworkModel, sample: Sample) -> bool:
    """Returns whether the framework accepts a generated input; a fitted scaler may not."""
    try:
        (outputs,) = opened.outputs_in_sequence([sample])
    except Exception:  # any exception: the input is not the user's
        return False
    return all(np.isfinite(each).all() for each in outputs if each.dtype.kind == "f")


def _asked_twice(
    opened: FrameworkModel, framework: str, tried: Sequence[tuple[str, Sample]], has_states: bool
) -> list[list[Array]]:
    """Returns the framework's outputs. Raises ToolError if they change when run again.

    Without states, the order is reversed, which reveals values that are kept.
    """
    before, samples = opened.kept_values(), [sample for _, sample in tried]
    if has_states:
        first, again = (opened.outputs_in_sequence(samples) for _ in range(2))
    else:
        first = [opened.outputs(sample) for sample in samples]
        again = [opened.outputs(sample) for sample in reversed(samples)][::-1]
    if all(_is_same(*pair) for pair in zip(first, again, strict=True)):
        return first
    changed = [name for name, value in opened.kept_values().items() if not _equal(value, before.get(name))]
    if changed:
        raise ToolError(
            f"{framework} returns different outputs for the same input: the model keeps {changed[0]} "
            "from one call to the next",
            opened.place_of_kept(changed[0]),
            opened.how_to_pass_state,
        )
    raise ToolError(
        f"{framework} returns different outputs for the same input: the model draws random numbers",
        opened.name,
        "switch them off for inference, as F.dropout(x, p, training=self.training) does",
    )


def _is_same(one: Sequence[Array], other: Sequence[Array]) -> bool:
    return len(one) == len(other) and all(
        a.shape == b.shape and _distance(a, b) <= _FLOAT_LIMIT * _largest(a) + _NOTHING
        for a, b in zip(one, other, strict=True)
    )


def _equal(one: object, other: object) -> bool:
    return np.array_equal(np.asarray(one), np.asarray(other))


def _distance(one: Array, other: Array) -> float:
    """Returns the largest distance, or infinity if only one of them is finite."""
    a, b = (each.reshape(-1).astype(np.float64) for each in (one, other))
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return float("inf")
    known = np.isfinite(a)
    return float(np.abs(a[known] - b[known]).max(initial=0))


def _largest(array: Array) -> float:
    values = array.astype(np.float64)
    return float(np.abs(values[np.isfinite(values)]).max(initial=0))
