"""The values of each layer on the user's samples: range, what is cut off, distance to a float model."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from aot.interpret import run_all
from aot.ir.graph import Graph
from aot.ir.types import Array, TensorType
from codegen.model import LayerInfo
from deploy.inputs.samples import Samples

MOST_SAMPLES = 32  # whose every value is looked at


Reals = npt.NDArray[np.float64]
Watched = Mapping[str, list[Array]]  # by value, of each sample


@dataclass(frozen=True, slots=True)
class ErrorToFloat:
    """The distance of a layer's values to those of the float model."""

    decibels: float | None = None  # signal to noise; None where nothing differs
    largest_error: float | None = None


@dataclass(frozen=True, slots=True)
class LayerValues:
    """The values that a layer gave, of all samples together."""

    low: float  # in floats where the layer has a scale
    high: float
    range_used: float | None  # share of what its integers can say; None for floats
    at_least: float | None  # share of the values that are the least integer, to which others are cut off
    at_most: float | None  # and the largest one
    to_float: ErrorToFloat | None = None

    def as_json(self) -> dict[str, Any]:
        error = asdict(self.to_float or ErrorToFloat())
        return {
            "low": self.low,
            "high": self.high,
            "range_used": self.range_used,
            "at_least": self.at_least,
            "at_most": self.at_most,
            **error,
        }


def watch(graph: Graph, samples: Samples) -> Watched:
    """Every value of the graph, of the first samples."""
    seen: dict[str, list[Array]] = {}
    for sample in samples.each[:MOST_SAMPLES]:
        shaped = (a.reshape(graph.types[n].shape) for n, a in zip(graph.inputs, sample, strict=True))
        for name, array in run_all(graph, dict(zip(graph.inputs, shaped, strict=True))).items():
            seen.setdefault(name, []).append(array)
    return seen


def values_of(graph: Graph, layers: Sequence[LayerInfo], watched: Watched) -> dict[int, LayerValues]:
    """The values of each layer, by its number."""
    return {layer.index: _values(graph.types[layer.value], watched[layer.value]) for layer in layers}


def _values(tensor: TensorType, arrays: Sequence[Array]) -> LayerValues:
    array = np.stack(arrays)
    reals = real_numbers(tensor, array)
    low, high = float(reals.min()), float(reals.max())
    if not tensor.dtype.is_integer:
        return LayerValues(low, high, None, None, None)
    least, most = tensor.dtype.limits
    used = (int(array.max()) - int(array.min())) / (most - least)
    return LayerValues(low, high, used, float((array == least).mean()), float((array == most).mean()))


def real_numbers(tensor: TensorType, array: Array) -> Reals:
    """The real values that integers stand for; without a scale the integers themselves."""
    quant = tensor.quant
    if quant is None or not tensor.dtype.is_integer or quant.is_per_channel:
        return array.astype(np.float64)
    reals: Reals = quant.scale * (array.astype(np.float64) - quant.zero_point)
    return reals


@dataclass(frozen=True)
class Watching:
    """A compiled graph, its layers and the values they gave."""

    graph: Graph
    layers: Sequence[LayerInfo]
    watched: Watched


def errors_against(integer: Watching, real: Watching) -> dict[int, ErrorToFloat]:
    """The errors of the layers that the float model has too, by number.

    Layers are the same where kind and shapes are, in the same order: names differ between the two files.
    """
    ours, theirs = ([(layer.op, layer.shapes) for layer in each.layers] for each in (integer, real))
    found = {}
    for block in difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks():
        for n in range(block.size):
            one, other = integer.layers[block.a + n], real.layers[block.b + n]
            found[one.index] = _error(
                real_numbers(integer.graph.types[one.value], np.stack(integer.watched[one.value])),
                np.stack(real.watched[other.value]).astype(np.float64),
            )
    return found


def _error(found: Reals, wanted: Reals) -> ErrorToFloat:
    off = found.reshape(-1) - wanted.reshape(-1)
    signal, noise = float((wanted**2).sum()), float((off**2).sum())
    decibels = float(10 * np.log10(signal / noise)) if signal and noise else None  # None: nothing differs
    return ErrorToFloat(decibels, float(np.abs(off).max()))
