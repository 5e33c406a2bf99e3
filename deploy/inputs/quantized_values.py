"""Quantizes input arrays and dequantizes outputs with the model's scales and zero points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from aot.errors import InputError
from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import Array


def as_integers(arrays: Mapping[str, Array], specs: Sequence[TensorSpec]) -> dict[str, Array]:
    """Returns the inputs by name, with floats rounded and clamped to the model's integers.

    Integer arrays are returned unchanged. Raises InputError if an input has no per-tensor scale.
    """
    by_name = {spec.name: spec for spec in specs} | {f"input_{i}": spec for i, spec in enumerate(specs)}
    return {name: _quantised(np.asarray(a), by_name.get(name)) for name, a in arrays.items()}


def dequantized(arrays: Mapping[str, Array], specs: Sequence[TensorSpec]) -> dict[str, Array]:
    """Returns the outputs as float32, in the order of `specs`."""
    return {name: _real(array, spec) for (name, array), spec in zip(arrays.items(), specs, strict=True)}


def _quantised(array: Array, spec: TensorSpec | None) -> Array:
    if spec is None or array.dtype.kind != "f" or not spec.type.dtype.is_integer:
        return array
    quant, (low, high) = spec.type.quant, spec.type.dtype.limits
    if quant is None or quant.is_per_channel:
        raise InputError(
            f'input "{spec.name}" has no scale, so floats cannot be converted to its integers',
            hint=f"give {spec}",
        )
    odd = int(np.count_nonzero(~np.isfinite(array)))
    if odd:
        raise InputError(
            f'{odd:,} of {array.size:,} values of the input "{spec.name}" are NaN or infinite and cannot be '
            "quantized",
            hint="find them with np.argwhere(~np.isfinite(x))",
        )
    stored = np.round(array.astype(np.float64) / quant.scale) + quant.zero_point
    integers: Array = np.clip(stored, low, high).astype(spec.dtype)
    return integers


def _real(array: Array, spec: TensorSpec) -> Array:
    quant = spec.type.quant
    if not spec.type.dtype.is_integer or quant is None:
        return array
    if quant.is_per_channel:
        raise InputError(
            f'cannot dequantize output "{spec.name}": it has one scale per channel, and the board reports '
            "only one"
        )
    reals: Array = (quant.scale * (array.astype(np.float64) - quant.zero_point)).astype(np.float32)
    return reals
