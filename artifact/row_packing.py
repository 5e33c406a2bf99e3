"""Packs a layer's value into the bytes that the layer writes, to compare them with a device's."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from aot.ir.types import Array
from codegen.formats import RowFormat
from codegen.model import LayerInfo


def rows_crc32(values: Sequence[Array], layer: LayerInfo) -> int:
    """Returns the CRC-32 of all rows the layer writes, in order, without padding rows around the image.

    A layer with several results writes one after the other.
    """
    crc = 0
    for value, result in zip(values, layer.results, strict=True):
        crc = zlib.crc32(pack_rows(value, result.format, result.rows), crc)
    return crc


def pack_rows(value: Array, fmt: RowFormat, rows: int) -> bytes:
    """Returns the value's rows as in memory, little-endian, with fill in place of missing pixels."""
    packed = np.full((rows, fmt.row_elements), fmt.fill, _element_type(value, fmt))
    packed[:, _places(fmt)] = value.reshape(rows, fmt.width, fmt.channels)
    return packed.tobytes()


def _places(fmt: RowFormat) -> Array:
    """Returns the index in a row of each channel of each pixel: [width, channels]."""
    x = (fmt.left + np.arange(fmt.width)) * fmt.x_step
    places: Array = x[:, None] + np.arange(fmt.channels) * fmt.c_step
    return places


def _element_type(value: Array, fmt: RowFormat) -> np.dtype[np.generic]:
    own = value.dtype.itemsize == fmt.dtype_bytes
    return np.dtype(f"<{value.dtype.kind if own else 'i'}{fmt.dtype_bytes}")
