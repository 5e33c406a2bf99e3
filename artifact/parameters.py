"""Packs named arrays into `parameters/<name>.params`, the binary form of TVM's parameter files, and back.

All numbers are little-endian. A list: magic, 0, names (count, then each with its length), number of arrays,
arrays. An array: magic, 0, device, rank, element type, shape, length in bytes, elements.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

import numpy as np

from aot.ir.types import Array

_LIST_MAGIC = 0xF7E58D4F05049CB7
_ARRAY_MAGIC = 0xDD5E40F096B4A13F
_MOST_RANK = 16
_CPU = (1, 0)  # DLDevice: type, number
_INT, _UINT, _FLOAT = 0, 1, 2  # DLDataTypeCode
_DTYPES: Mapping[str, tuple[int, int]] = {  # numpy name -> code, bits; a boolean uses a byte
    "bool": (_UINT, 1),
    "int8": (_INT, 8),
    "int16": (_INT, 16),
    "int32": (_INT, 32),
    "int64": (_INT, 64),
    "uint8": (_UINT, 8),
    "uint32": (_UINT, 32),
    "uint64": (_UINT, 64),
    "float32": (_FLOAT, 32),
}
_NAMES = {coded: name for name, coded in _DTYPES.items()}


class ParametersError(ValueError):
    """The bytes are not a parameter file."""


def pack_parameters(arrays: Mapping[str, Array]) -> bytes:
    names = [name.encode() for name in arrays]
    parts = [struct.pack("<QQQ", _LIST_MAGIC, 0, len(names))]
    parts += [struct.pack("<Q", len(name)) + name for name in names]
    parts.append(struct.pack("<Q", len(names)))
    parts += [_packed(array) for array in arrays.values()]
    return b"".join(parts)


def _packed(array: Array) -> bytes:
    code, bits = _DTYPES[array.dtype.name]
    head = struct.pack("<QQiiiBBH", _ARRAY_MAGIC, 0, *_CPU, array.ndim, code, bits, 1)
    elements = array.astype(array.dtype.newbyteorder("<")).tobytes()
    return head + struct.pack(f"<{array.ndim}qq", *array.shape, len(elements)) + elements


def unpack_parameters(data: bytes) -> dict[str, Array]:
    """Returns the arrays by name. Raises ParametersError for anything but a complete parameter file."""
    reader = _ValueReader(data)
    magic, _, count = reader.numbers("QQQ")
    if magic != _LIST_MAGIC:
        raise ParametersError("it does not start like a parameter file")
    names = [reader.text(*reader.numbers("Q")) for _ in range(count)]
    if reader.numbers("Q") != (count,):
        raise ParametersError("its numbers of arrays and names differ")
    return {name: reader.array() for name in names}


class _ValueReader:
    """Reads values from the front of the data, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def numbers(self, kinds: str) -> tuple[int, ...]:
        return struct.unpack(f"<{kinds}", self._bytes(struct.calcsize(f"<{kinds}")))

    def text(self, length: int) -> str:
        try:
            return self._bytes(length).decode()
        except UnicodeDecodeError:
            raise ParametersError("a name in it is not UTF-8 text") from None

    def array(self) -> Array:
        magic, _, _, _, rank, code, bits, _ = self.numbers("QQiiiBBH")
        if magic != _ARRAY_MAGIC or (code, bits) not in _NAMES or not 0 <= rank <= _MOST_RANK:
            raise ParametersError("an array in it has an unknown format")
        *shape, size = self.numbers(f"{rank}qq")
        dtype = np.dtype(_NAMES[code, bits])
        if min(shape, default=0) < 0 or np.prod(shape, dtype=object) * dtype.itemsize != size:
            raise ParametersError("the length of an array in it does not match its shape")
        elements = np.frombuffer(self._bytes(size), dtype.newbyteorder("<"))
        return elements.astype(dtype).reshape(shape)

    def _bytes(self, count: int) -> bytes:
        taken = self._data[self._at : self._at + count]
        if len(taken) < count:
            raise ParametersError(f"it ends after {len(self._data)} bytes, in the middle")
        self._at += count
        return taken
