"""Curves of 16-bit integers: linear interpolation between 513 points, bit for bit as in the references."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from aot.ir.types import Array
from aot.ops.requant import Ints

_STEPS, _STEP_BITS = 512, 7
_LOW, _HIGH = -(2**15), 2**15 - 1
Table = npt.NDArray[np.int16]
_Reals = npt.NDArray[np.float32]


def points(
    curve: Callable[[Array], Array], x_scale: float, x_zero: int, y_scale: float, y_zero: int
) -> Table:
    """Returns results at every 128th stored input, corrected by half the error at each interval's middle.

    Uses single precision, because the references compute their tables in it.
    """
    single = np.float32
    least, most = (single(x_scale) * single(limit - x_zero) for limit in (_LOW, _HIGH))
    low, high = (single(y_scale) * single(limit - y_zero) for limit in (_LOW, _HIGH))
    per_unit = single(65536) / (high - low)
    step = (most - least) / single(_STEPS)
    numbers = np.arange(_STEPS, dtype=single)

    def at(x: _Reals) -> _Reals:
        y: _Reals = np.asarray(curve(x), single) * per_unit
        return y

    with np.errstate(all="ignore"):
        here = _rounded(at(least + numbers * step))
        middle = _rounded(at(least + numbers * step + step / single(2)))
        between = _rounded((at(least + (numbers + single(1)) * step) + here) / single(2))
        moved = here - _rounded((between - middle) / single(2))
        last = _rounded(at(np.asarray([most], single)))
    table: Table = np.clip(np.nan_to_num(np.concatenate((moved, last)), nan=0.0), _LOW, _HIGH).astype(
        np.int16
    )
    return table


def _rounded(x: _Reals) -> _Reals:
    """Rounds halves away from 0."""
    rounded: _Reals = np.trunc(x + np.copysign(np.float32(0.5), x)).astype(np.float32)
    return rounded


def on_lines(x: Ints, table: Table) -> Ints:
    """Interpolates stored inputs in a table."""
    wide, number = table.astype(np.int64), (x >> _STEP_BITS) + _STEPS // 2
    slope = (wide[number + 1] - wide[number]).astype(np.int16).astype(np.int64)
    y: Ints = wide[number] + ((slope * (x & 127) + 64) >> _STEP_BITS)
    return y.astype(np.int16).astype(np.int64)
