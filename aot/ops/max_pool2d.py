"""Maximum pooling: the largest pixel in the window, without padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops.activation import clamp_integers, clamp_reals
from aot.ops.op import Arrays, Types, required
from aot.ops.spatial import Pool2d, pad, patches


@dataclass(frozen=True, slots=True)
class MaxPool2d(Pool2d):
    """Returns the maximum of each window. Padding counts as smaller than any pixel."""

    name: ClassVar[str] = "max_pool2d"

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, (out_type,) = required(arrays[0]), outputs
        is_float = out_type.dtype is DType.F32
        lowest = -np.inf if is_float else out_type.dtype.limits[0]
        windows = patches(pad(x, self.padding, lowest), self.size, self.stride, (1, 1))
        largest = windows.max(axis=(4, 5))
        if is_float:
            return (clamp_reals(largest, self.activation),)
        return (clamp_integers(largest.astype(np.int64), self.activation, out_type),)
