"""RFFT2D and the operators that make floats of its complex numbers, which are pairs of floats here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import prod

import numpy as np

from aot.frontend.tflite.importers.rearranging import rearrange
from aot.frontend.tflite.operation import Importer, TfliteOperator
from aot.ir.types import DType, TensorType, dense_strides
from aot.ops.dense import Dense
from aot.ops.energy import Energy
from aot.ops.fft import Fft, RealSpectrum
from aot.ops.rearrange import Loops
from aot.ops.reshape import Reshape
from aot.ops.unary_math import MathFunction, UnaryMath

_LEAST = 4  # elements whose transform is not a product with a matrix


def _import_rfft2d(node: TfliteOperator) -> None:
    """Transforms rows, then the columns of their spectra; more elements than the length are left out."""
    x, lengths = node.operand(0, "the data"), node.integers(1, "length")
    stored, output = node.tensor(x), node.the_output
    if len(lengths) != 2 or any(n < 1 or n & (n - 1) for n in lengths) or lengths[1] == 1:
        raise node.fail(
            f"a transform of {list(lengths)} elements is not supported",
            "supported: two powers of 2, the last one at least 2",
        )
    if stored.rank < 2 or output not in node.draft.pairs:
        raise node.fail(f"it makes {node.tensor(output).dtype.value} of shape {list(stored.shape)}")
    kept = tuple(min(n, length) for n, length in zip(stored.shape[-2:], lengths, strict=True))
    images = prod(stored.shape[:-2])
    if kept != stored.shape[-2:]:
        part = node.value_like(f"{x}/part", stored, (*stored.shape[:-2], *kept))
        rearrange(node, x, Loops(node.tensor(part).shape, dense_strides(stored.shape)), part)
        x = part
    rows = node.reshaped(x, (images * kept[0], kept[1]))
    spectra, bins = _of_rows(node, rows, lengths[1]), lengths[1] // 2 + 1
    if lengths[0] > 1:
        spectra = _turned(node, spectra, (images, kept[0], bins))
        columns = node.reshaped(spectra, (images * bins, 2 * kept[0]))
        columns = node.apply(Fft(lengths[0]), columns)
        spectra = _turned(node, columns, (images, bins, lengths[0]))
    node.add_node(Reshape(node.tensor(output).shape), (spectra,), output)


def _of_rows(node: TfliteOperator, rows: str, length: int) -> str:
    """Returns the first half of the spectrum of each row, and one pair more."""
    if length >= _LEAST:
        return node.apply(RealSpectrum(), node.apply(Fft(length // 2), rows))
    signs = np.array([[1, 1], [0, 0], [1, -1], [0, 0]], np.float32)  # the sum and the difference of two
    matrix = np.ascontiguousarray(signs[:, : node.tensor(rows).shape[1]])
    weights = node.add_value(f"{node.label}/matrix", TensorType(DType.F32, matrix.shape), matrix)
    return node.apply(Dense(), rows, weights)


def _turned(node: TfliteOperator, x: str, shape: tuple[int, int, int]) -> str:
    """Returns matrices of pairs with their rows as columns."""
    images, rows, columns = shape
    made = node.value_like(f"{node.label}/turned", node.tensor(x), (images, columns, rows, 2))
    size = rows * columns
    rearrange(node, x, Loops((images, columns, rows, 2), (2 * size, 2, 2 * columns, 1)), made)
    return made


def _of_pairs(node: TfliteOperator) -> str:
    x = node.operand(0, "the numbers")
    if x not in node.draft.pairs:
        raise node.fail(f'"{x}" is {node.tensor(x).dtype.value}, it must be complex')
    return x


def _import_magnitude(node: TfliteOperator) -> None:
    x = _of_pairs(node)
    *before, last = node.tensor(x).shape[:-1] or (1,)
    flat = node.reshaped(x, (*before, 2 * last))
    energies = node.apply(Energy(0, last), flat)
    shape = node.tensor(energies).shape
    node.reshaped_result(UnaryMath(MathFunction.SQRT), (energies,), shape)


def _import_part(node: TfliteOperator, number: int) -> None:
    x = _of_pairs(node)
    shape = node.tensor(x).shape
    part = Loops(shape[:-1], dense_strides(shape)[:-1], number)
    rearrange(node, x, part, node.the_output)


SPECTRA: Mapping[str, Importer] = {
    "COMPLEX_ABS": _import_magnitude,
    "IMAG": partial(_import_part, number=1),
    "REAL": partial(_import_part, number=0),
    "RFFT2D": _import_rfft2d,
}
