"""RFFT2D and the operators that make floats of its complex numbers, which are pairs of floats here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import prod

import numpy as np

from aot.frontend.tflite.draft import Importer, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.frontend.tflite.importers.rearranging import rearrange
from aot.ir.strides import dense_strides
from aot.ir.types import DType, TensorType
from aot.ops.dense import Dense
from aot.ops.energy import Energy
from aot.ops.fft import Fft, RealSpectrum
from aot.ops.rearrange import Loops
from aot.ops.reshape import Reshape
from aot.ops.unary_math import MathFunction, UnaryMath

_LEAST = 4  # elements whose transform is not a product with a matrix


def _import_rfft2d(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Transforms rows, then the columns of their spectra; more elements than the length are left out."""
    x, lengths = read.operand(operator, 0, "the data"), read.integers(draft, operator, 1, "length")
    stored, output = draft.types[x], read.the_output(operator)
    if len(lengths) != 2 or any(n < 1 or n & (n - 1) for n in lengths) or lengths[1] == 1:
        raise operator.fail(
            f"a transform of {list(lengths)} elements is not supported",
            "supported: two powers of 2, the last one at least 2",
        )
    if stored.rank < 2 or output not in draft.pairs:
        raise operator.fail(f"it makes {draft.types[output].dtype.value} of shape {list(stored.shape)}")
    kept = tuple(min(n, length) for n, length in zip(stored.shape[-2:], lengths, strict=True))
    images = prod(stored.shape[:-2])
    if kept != stored.shape[-2:]:
        part = read.value_like(draft, f"{x}/part", stored, (*stored.shape[:-2], *kept))
        rearrange(draft, operator, x, Loops(draft.types[part].shape, dense_strides(stored.shape)), part)
        x = part
    rows = read.reshaped(draft, operator, x, (images * kept[0], kept[1]))
    spectra, bins = _of_rows(draft, operator, rows, lengths[1]), lengths[1] // 2 + 1
    if lengths[0] > 1:
        spectra = _turned(draft, operator, spectra, (images, kept[0], bins))
        columns = read.reshaped(draft, operator, spectra, (images * bins, 2 * kept[0]))
        columns = read.made(draft, operator, Fft(lengths[0]), columns)
        spectra = _turned(draft, operator, columns, (images, bins, lengths[0]))
    draft.add_node(operator, Reshape(draft.types[output].shape), (spectra,), output)


def _of_rows(draft: TfliteDraft, operator: TfliteOperator, rows: str, length: int) -> str:
    """Returns the first half of the spectrum of each row, and one pair more."""
    if length >= _LEAST:
        return read.made(draft, operator, RealSpectrum(), read.made(draft, operator, Fft(length // 2), rows))
    signs = np.array([[1, 1], [0, 0], [1, -1], [0, 0]], np.float32)  # the sum and the difference of two
    matrix = np.ascontiguousarray(signs[:, : draft.types[rows].shape[1]])
    weights = draft.add_value(f"{operator.label}/matrix", TensorType(DType.F32, matrix.shape), matrix)
    return read.made(draft, operator, Dense(), rows, weights)


def _turned(draft: TfliteDraft, operator: TfliteOperator, x: str, shape: tuple[int, int, int]) -> str:
    """Returns matrices of pairs with their rows as columns."""
    images, rows, columns = shape
    made = read.value_like(draft, f"{operator.label}/turned", draft.types[x], (images, columns, rows, 2))
    size = rows * columns
    rearrange(draft, operator, x, Loops((images, columns, rows, 2), (2 * size, 2, 2 * columns, 1)), made)
    return made


def _of_pairs(draft: TfliteDraft, operator: TfliteOperator) -> str:
    x = read.operand(operator, 0, "the numbers")
    if x not in draft.pairs:
        raise operator.fail(f'"{x}" is {draft.types[x].dtype.value}, it must be complex')
    return x


def _import_magnitude(draft: TfliteDraft, operator: TfliteOperator) -> None:
    x = _of_pairs(draft, operator)
    *before, last = draft.types[x].shape[:-1] or (1,)
    flat = read.reshaped(draft, operator, x, (*before, 2 * last))
    energies = read.made(draft, operator, Energy(0, last), flat)
    shape = draft.types[energies].shape
    read.reshaped_result(draft, operator, UnaryMath(MathFunction.SQRT), (energies,), shape)


def _import_part(draft: TfliteDraft, operator: TfliteOperator, number: int) -> None:
    x = _of_pairs(draft, operator)
    shape = draft.types[x].shape
    part = Loops(shape[:-1], dense_strides(shape)[:-1], number)
    rearrange(draft, operator, x, part, read.the_output(operator))


SPECTRA: Mapping[str, Importer] = {
    "COMPLEX_ABS": _import_magnitude,
    "IMAG": partial(_import_part, number=1),
    "REAL": partial(_import_part, number=0),
    "RFFT2D": _import_rfft2d,
}
