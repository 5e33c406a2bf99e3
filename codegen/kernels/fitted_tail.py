"""Replaces a layer's tail with scales fitted to its sums, if every channel has them."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from aot.ir.types import Array, DType
from aot.ops.requant import INT32_MAX, Ints
from aot.ops.rounding import RequantRounding
from codegen.isa.plain.fitted_scale import FittedScales, SumRange, fitted, most_offset, store_fitted
from codegen.isa.plain.requantise import Requant
from codegen.kernels.requantised import Requantised

_ROUNDINGS = (RequantRounding.DOUBLE, RequantRounding.SINGLE)


def fitted_tail(tail: Requantised, weights: Array, x_dtype: DType, step: int = 1) -> Requantised:
    """Returns the tail for sums and bias enlarged by `step`, or the original tail if no scales fit."""
    r = tail.requant
    is_fit = r.dtype is DType.I8 and r.sum_dtype is DType.I32 and r.rounding in _ROUNDINGS
    if not is_fit or tail.sums_wrap or r.sign_matters:
        return tail
    least, greatest = _reach(weights, tail.bias.astype(np.int64), x_dtype)
    if step * max(int(-least.min()), int(greatest.max())) > INT32_MAX - most_offset(step):
        return tail
    scales = (tail.scales["mult"], tail.scales["right"], least, greatest)
    mult, right, low, high = (array.astype(np.int64).tobytes() for array in scales)
    addends = DType.I32 if tail.for_any_weights else DType.I16
    found = _found(r, mult, right, low, high, step, addends)
    if found is None:
        return tail
    return replace(
        tail,
        bias=(tail.bias.astype(np.int64) * step + found.offset).astype(np.int32),
        scales={"mult": found.mult.astype(np.int32), "addend": found.addend.astype(addends.numpy)},
        storing=store_fitted(r, found.shift, addends),
    )


def _reach(weights: Array, start: Ints, x_dtype: DType) -> tuple[Ints, Ints]:
    """Returns the least and greatest sum of each channel, for all stored inputs."""
    flat = weights.reshape(weights.shape[0], -1).astype(np.int64)
    low, high = x_dtype.limits
    least = np.minimum(flat * low, flat * high).sum(axis=1, dtype=np.int64)
    greatest = np.maximum(flat * low, flat * high).sum(axis=1, dtype=np.int64)
    return start + least, start + greatest


@lru_cache(maxsize=1024)
def _found(
    r: Requant, mult: bytes, right: bytes, least: bytes, greatest: bytes, step: int, addends: DType
) -> FittedScales | None:
    """Fits scales. Cached, because each variant of a plan lowers the same layer."""
    m, rights, low, high = (np.frombuffer(data, np.int64) for data in (mult, right, least, greatest))
    return fitted(r, m, rights, SumRange(low, high, step, addends), r.math.high_word_half)
