"""Compares a board's results with the reference, and finds the first layer that differs.

Integers must be equal bit for bit. Floats may differ by FLOAT_TOLERANCE of the largest value, because sums
are computed in another order. Where single precision loses more, they may differ by ROUNDINGS times what one
rounding of the inputs changes. Layers are compared by checksum, which requires integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from aot.interpret import run_all, run_series
from aot.ir.graph import Graph
from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import Array, DType
from artifact.row_packing import rows_crc32
from codegen.model import LayerInfo
from deploy.cli.console import progress
from deploy.inputs.samples import Samples

FLOAT_TOLERANCE = 1e-5
ROUNDINGS = 8  # sums round, too: half of it was seen in LSTMs and attention 100 deviations from zero
_SEED = 20_260_000


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference between one output of one sample and the reference."""

    sample: int
    output: str
    elements: int
    differing: int
    first_index: tuple[int, ...]
    expected: float
    found: float
    most: float  # largest difference

    def __str__(self) -> str:
        return (
            f'sample {self.sample}, output "{self.output}": {self.differing} of {self.elements} elements '
            f"differ, by {self.most:g} at most; "
            f"first at {list(self.first_index)}: {self.found:g}, expected {self.expected:g}"
        )


@dataclass(frozen=True, slots=True)
class Rounded:
    """A difference that single precision explains: a rounding of the inputs has such an effect."""

    sample: int
    output: str
    most: float  # largest difference
    moved: float  # largest change if each input is rounded once more

    def __str__(self) -> str:
        return (
            f'sample {self.sample}, output "{self.output}": differs by {self.most:g}; '
            f"one more rounding of the inputs changes it by {self.moved:g}"
        )


@dataclass(frozen=True, slots=True)
class WrongLayer:
    """The first layer of a sample whose rows differ from the reference."""

    sample: int
    layer: LayerInfo

    def __str__(self) -> str:
        layer = self.layer
        what = f"{layer.op}, {layer.origin or layer.name}, kernel {layer.kernel}"
        return f"sample {self.sample}, layer {layer.index} {what}"


def reference_outputs(graph: Graph, samples: Samples) -> list[tuple[Array, ...]]:
    """Computes the outputs of the imported graph, before any pass, for each sample.

    A streamed input may be an image in the graph and a vector in the samples.
    """

    def series() -> Iterator[dict[str, Array]]:
        for number, sample in enumerate(samples.each):
            bar.step(f"sample {number + 1} of {len(samples)}")
            yield {
                name: array.reshape(graph.types[name].shape)
                for name, array in zip(graph.inputs, sample, strict=True)
            }

    with progress("computing the reference", len(samples)) as bar:
        return [tuple(outputs.values()) for outputs in run_series(graph, series())]


def differences(
    expected: Sequence[tuple[Array, ...]],
    found: Sequence[tuple[Array, ...]],
    specs: Sequence[TensorSpec],
    tolerance: float = FLOAT_TOLERANCE,
) -> list[Difference]:
    pairs = (
        (sample, spec, e, f)
        for sample, (all_expected, all_found) in enumerate(zip(expected, found, strict=True))
        for spec, e, f in zip(specs, all_expected, all_found, strict=True)
    )
    return [
        _difference(sample, spec.name, e, f) for sample, spec, e, f in pairs if not _agree(e, f, tolerance)
    ]


def _agree(expected: Array, found: Array, tolerance: float = FLOAT_TOLERANCE) -> bool:
    if expected.dtype.kind != "f":
        return expected.dtype == found.dtype and expected.tobytes() == found.tobytes()
    largest = float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0))
    return bool(np.allclose(found, expected, rtol=0.0, atol=tolerance * largest, equal_nan=True))


def apart_from_roundings(
    found: Sequence[Difference], graph: Graph, samples: Samples, expected: Sequence[tuple[Array, ...]]
) -> tuple[tuple[Difference, ...], tuple[Rounded, ...]]:
    """Splits differences: those that count, and those that rounding the inputs once more explains."""
    floats = {name for name in graph.outputs if graph.types[name].dtype is DType.F32}
    if not floats.intersection(each.output for each in found):
        return tuple(found), ()
    moved = reference_outputs(graph, _rounded_once_more(samples))
    positions = {name: position for position, name in enumerate(graph.outputs)}
    counting, rounded = list[Difference](), list[Rounded]()
    for each in found:
        by, position = 0.0, positions.get(each.output)
        if each.output in floats and position is not None:
            one, other = (values[each.sample][position].astype(np.float64) for values in (moved, expected))
            by = float(np.abs(one - other).max(initial=0.0))
        if np.isfinite(by) and each.most <= ROUNDINGS * by:
            rounded.append(Rounded(each.sample, each.output, each.most, by))
        else:
            counting.append(each)
    return tuple(counting), tuple(rounded)


def _rounded_once_more(samples: Samples) -> Samples:
    """Returns the samples with each float moved to one of its two neighbours, the same each time."""
    rng = np.random.default_rng(_SEED)

    def moved(array: Array) -> Array:
        if array.dtype.kind != "f":
            return array
        ends = np.where(rng.random(array.shape) < 0.5, -np.inf, np.inf).astype(array.dtype)
        return np.nextafter(array, ends)

    return replace(samples, each=tuple(tuple(map(moved, sample)) for sample in samples.each))


def has_float_outputs(graph: Graph) -> bool:
    return any(graph.types[value].dtype is DType.F32 for value in graph.outputs)


def comparable_layers(graph: Graph, layers: Sequence[LayerInfo]) -> list[LayerInfo]:
    """Returns the layers that write integers, because only their checksums are comparable."""
    return [
        layer
        for layer in layers
        if all(graph.types[result.value].dtype is not DType.F32 for result in layer.results)
    ]


def _difference(sample: int, output: str, expected: Array, found: Array) -> Difference:
    unequal = expected != found
    first = tuple(int(i) for i in np.argwhere(unequal)[0]) if unequal.any() else (0,) * expected.ndim
    by = np.abs(expected.astype(np.float64) - found.astype(np.float64))
    return Difference(
        sample,
        output,
        expected.size,
        int(unequal.sum()),
        first,
        float(expected[first]),
        float(found[first]),
        float(by.max(initial=0)),
    )


def first_wrong_layer(
    graph: Graph, layers: Sequence[LayerInfo], checksums: Sequence[int], sample: Mapping[str, Array]
) -> LayerInfo | None:
    """Returns the first layer of the compiled graph whose checksum differs from the reference, or None."""
    values = {**graph.constants, **run_all(graph, sample)}
    comparable = comparable_layers(graph, layers)
    for layer, checksum in zip(layers, checksums, strict=True):
        made = [values[result.value] for result in layer.results]
        if layer in comparable and rows_crc32(made, layer) != checksum:
            return layer
    return None
