"""Stores 9-bit weights (unsigned ones minus their zero point) as bytes with a zero point.

TFLite kernels do not support them together with int8 pixels, but compilers for NPUs do: they subtract the
zero point first.
"""

from __future__ import annotations

import numpy as np

from aot.frontend.tflite.operators import Stored, as_they_are
from aot.ir.types import Array, DType, Quant, TensorType


def as_bytes(w: TensorType, data: Array) -> Stored | None:
    """Returns the weights in bytes; None if they have more than 256 values or several scales."""
    if w.dtype is not DType.I16 or w.quant is None:
        return as_they_are(w, data)
    least, most = min(int(data.min()), 0), max(int(data.max()), 0)
    if w.quant.axis is not None or most - least > np.iinfo(np.uint8).max:
        return None
    quant = Quant(w.quant.scales, (-least,), None)
    return TensorType(DType.U8, w.shape, quant), (data.astype(np.int32) - least).astype(np.uint8)
