"""Stores unsigned quantized tensors as signed ones, and 9-bit weights as bytes; same values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aot.frontend.tflite.operators import Stored, as_they_are
from aot.frontend.tflite.tensors import Tensor
from aot.ir.types import Array, DType, Quant, TensorType

_OFFSET = 128


def is_unsigned(tensor: TensorType) -> bool:
    """Returns whether the tensor is quantized and unsigned; integers without a scale are not."""
    return tensor.dtype is DType.U8 and tensor.quant is not None


def signed(tensor: Tensor) -> Tensor:
    data = None if tensor.data is None else (tensor.data.astype(np.int16) - _OFFSET).astype(np.int8)
    return replace(tensor, type=signed_type(tensor.type), data=data)


def signed_type(tensor: TensorType) -> TensorType:
    assert tensor.quant is not None
    zero_points = tuple(zero_point - _OFFSET for zero_point in tensor.quant.zero_points)
    return TensorType(DType.I8, tensor.shape, Quant(tensor.quant.scales, zero_points, tensor.quant.axis))


def centred_weights(weights: TensorType, data: Array) -> tuple[TensorType, Array]:
    """Returns the weights minus their zero points, in 16 bits if 8 are too few."""
    quant = weights.quant
    assert quant is not None
    shape = [1] * weights.rank
    if quant.axis is not None:
        shape[quant.axis] = -1
    centred = data.astype(np.int16) - np.array(quant.zero_points, np.int16).reshape(shape)
    low, high = DType.I8.limits
    fits = bool(centred.min() >= low and centred.max() <= high)
    dtype = DType.I8 if fits else DType.I16
    symmetric = Quant(quant.scales, (0,) * len(quant.scales), quant.axis)
    return TensorType(dtype, weights.shape, symmetric), centred.astype(dtype.numpy)


# Stores 9-bit weights (unsigned ones minus their zero point) as bytes with a zero point.
#
# TFLite kernels do not support them together with int8 pixels, but compilers for NPUs do: they subtract the
# zero point first.


def as_bytes(w: TensorType, data: Array) -> Stored | None:
    """Returns the weights in bytes; None if they have more than 256 values or several scales."""
    if w.dtype is not DType.I16 or w.quant is None:
        return as_they_are(w, data)
    least, most = min(int(data.min()), 0), max(int(data.max()), 0)
    if w.quant.axis is not None or most - least > np.iinfo(np.uint8).max:
        return None
    quant = Quant(w.quant.scales, (-least,), None)
    return TensorType(DType.U8, w.shape, quant), (data.astype(np.int32) - least).astype(np.uint8)
