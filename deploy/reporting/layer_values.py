"""The values of each layer on the user's samples: range, saturation, distance to a float model."""

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

MOST_SAMPLES = 32  # limit for recording all values


FloatArray = npt.NDArray[np.float64]
Watched = Mapping[str, list[Array]]  # value -> its array for each sample


@dataclass(frozen=True, slots=True)
class ErrorToFloat:
    """The distance of a layer's values to those of the float model."""

    decibels: float | None = None  # signal-to-noise ratio; None if equal
    largest_error: float | None = None


@dataclass(frozen=True, slots=True)
class LayerValues:
    """Statistics of a layer's values over all samples."""

    low: float  # in floats if the layer has a scale
    high: float
    range_used: float | None  # fraction of the integer range; None for floats
    at_least: float | None  # fraction of values at the lower end of the range: saturated
    at_most: float | None  # the same for the upper end
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
    """Records every value of the graph for the first samples."""
    seen: dict[str, list[Array]] = {}
    for sample in samples.each[:MOST_SAMPLES]:
        shaped = (a.reshape(graph.types[n].shape) for n, a in zip(graph.inputs, sample, strict=True))
        for name, array in run_all(graph, dict(zip(graph.inputs, shaped, strict=True))).items():
            seen.setdefault(name, []).append(array)
    return seen


def values_of(graph: Graph, layers: Sequence[LayerInfo], watched: Watched) -> dict[int, LayerValues]:
    """Returns the values of each layer by index."""
    return {layer.index: _values(graph.types[layer.value], watched[layer.value]) for layer in layers}


def _values(tensor: TensorType, arrays: Sequence[Array]) -> LayerValues:
    array = np.stack(arrays)
    floats = real_numbers(tensor, array)
    low, high = float(floats.min()), float(floats.max())
    if not tensor.dtype.is_integer:
        return LayerValues(low, high, None, None, None)
    least, most = tensor.dtype.limits
    used = (int(array.max()) - int(array.min())) / (most - least)
    return LayerValues(low, high, used, float((array == least).mean()), float((array == most).mean()))


def real_numbers(tensor: TensorType, array: Array) -> FloatArray:
    """Dequantizes integers; without a scale they are only converted."""
    quant = tensor.quant
    if quant is None or not tensor.dtype.is_integer or quant.is_per_channel:
        return array.astype(np.float64)
    floats: FloatArray = quant.scale * (array.astype(np.float64) - quant.zero_point)
    return floats


@dataclass(frozen=True)
class Watching:
    """A compiled graph, its layers and their values."""

    graph: Graph
    layers: Sequence[LayerInfo]
    watched: Watched


def errors_against(integer: Watching, real: Watching) -> dict[int, ErrorToFloat]:
    """Returns by index the errors of layers that the float model has, too.

    Layers match if kind and shapes are equal, in the same order, because names differ between the files.
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


def _error(found: FloatArray, wanted: FloatArray) -> ErrorToFloat:
    off = found.reshape(-1) - wanted.reshape(-1)
    signal, noise = float((wanted**2).sum()), float((off**2).sum())
    decibels = float(10 * np.log10(signal / noise)) if signal and noise else None  # None: equal
    return ErrorToFloat(decibels, float(np.abs(off).max()))
