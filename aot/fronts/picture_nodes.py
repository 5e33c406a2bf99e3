"""Adds nodes that convert a camera's bytes to the model's size and colors, row by row."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from aot.frontend.added_nodes import AddedNodes
from aot.fronts.picture import Crop, Picture, PixelForm
from aot.ir.types import Array, DType, Quant, TensorType
from aot.ops.binary import Add, Mul
from aot.ops.conv2d import Conv2d
from aot.ops.demosaic import Demosaic, Mosaic
from aot.ops.lookup import Lookup
from aot.ops.op import Op
from aot.ops.quantize import Dequantize, Quantize
from aot.ops.rearrange import Rearrange
from aot.ops.resize import Resize
from aot.ops.unpack_rgb565 import UnpackRgb565

BYTES = Quant((1.0,), (0,))
_SIGNED = Quant((1.0,), (-128,))  # the same values as signed bytes
_BRIGHTNESS = (0.2989, 0.5870, 0.1140)  # of red, green and blue, as in tf.image and torchvision
_COLOURS_OF: Mapping[PixelForm, Op] = {
    PixelForm.RGB565: UnpackRgb565(),
    PixelForm.RGB565_HIGH_FIRST: UnpackRgb565(high_first=True),
    **{form: Demosaic(Mosaic(form.mosaic)) for form in PixelForm if form.mosaic},
}


def add_picture(
    chain: AddedNodes, picture: Picture, size: tuple[int, int], channels: int, to: TensorType
) -> None:
    """Converts bytes [1, height, width, n] to the type `to`, [1, *size, channels]."""
    if picture.form in _COLOURS_OF:
        chain.then("unpack", _COLOURS_OF[picture.form], quant=BYTES)
    if picture.as_stored:
        chain.then("stored", Lookup(), _every_integer(to.dtype), quant=to.quant)
    else:
        chain.then("signed", Quantize(DType.I8), quant=_SIGNED)
    _add_part(chain, picture.crop, picture.form is PixelForm.BGR)
    is_moved_only = chain.type.shape == (1, *size, channels)
    if is_moved_only and picture.as_stored:
        return
    if is_moved_only and len(picture.factors) == 1 and to.dtype is DType.I8:
        _add_table(chain, picture, to)
        return
    _add_numbers(chain, picture, size, channels)
    if to.dtype is not DType.F32:
        chain.then("quantize", Quantize(to.dtype), quant=to.quant)


def _every_integer(dtype: DType) -> Array:
    low, high = dtype.limits
    return np.arange(low, high + 1).astype(dtype.numpy)


def _add_numbers(chain: AddedNodes, picture: Picture, size: tuple[int, int], channels: int) -> None:
    chain.then("numbers", Dequantize())
    if chain.type.shape[1:3] != size:
        chain.then("resize", Resize(size, half_pixels=True))
    if chain.type.shape[3] != channels:
        chain.then("gray", Conv2d(), np.array(_BRIGHTNESS, np.float32).reshape(1, 1, 1, 3), None)
    if any(factor != 1 for factor in picture.factors):
        chain.then("scaled", Mul(), _per_channel(picture.factors))
    if any(picture.offsets):
        chain.then("shifted", Add(), _per_channel(picture.offsets))


def _add_part(chain: AddedNodes, crop: Crop, is_reversed: bool) -> None:
    """Selects the rows and columns of the crop, and puts red before blue."""
    _, _, width, channels = chain.type.shape
    sizes = (1, crop.height, crop.width, channels)
    if sizes == chain.type.shape and not is_reversed:
        return
    row = width * channels
    first = crop.top * row + crop.left * channels + (channels - 1 if is_reversed else 0)
    strides = (0, row, channels, -1 if is_reversed else 1)
    chain.then("part", Rearrange(sizes, sizes, strides, first), quant=chain.type.quant)


def _add_table(chain: AddedNodes, picture: Picture, to: TensorType) -> None:
    """Adds a table of the model's integer for each of the 256 bytes, equal to the float computation."""
    numbers = np.arange(256, dtype=np.float32) * np.float32(picture.factors[0])
    numbers = numbers + np.float32(picture.offsets[0])
    kind = TensorType(DType.F32, numbers.shape)
    (table,) = Quantize(to.dtype).reference(
        [numbers], [kind], [TensorType(to.dtype, numbers.shape, to.quant)]
    )
    chain.then("table", Lookup(), table, quant=to.quant)


def _per_channel(numbers: tuple[float, ...]) -> Array:
    return np.array(numbers, np.float32).reshape(1, 1, 1, -1)
