"""Reads .npy and .npz files. A header's sizes are checked before memory is allocated."""

from __future__ import annotations

import zipfile
import zlib
from math import prod
from pathlib import Path
from typing import IO

import numpy as np

from aot.errors import InputError
from aot.ir.types import Array

MOST_BYTES = 2**31  # total size of a file's arrays
MOST_ARRAYS = 4096
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def read_npz(path: Path, what: str, hint: str) -> dict[str, Array]:
    """Returns all arrays of an .npz file; errors call the file `what`. Raises InputError."""
    try:
        if path.is_file() and not zipfile.is_zipfile(path):
            raise _unlike(path, what, hint)
        with zipfile.ZipFile(path) as file:
            entries = file.infolist()
            if len(entries) > MOST_ARRAYS:
                raise InputError(
                    f"the {what} holds {len(entries):,} arrays, the limit is {MOST_ARRAYS:,}", str(path)
                )
            _require_room(sum(entry.file_size for entry in entries), path, what)
            return {entry.filename.removesuffix(".npy"): _entry(file, entry) for entry in entries}
    except FileNotFoundError:
        raise InputError(f"the {what} does not exist", str(path), hint) from None
    except OSError as error:
        raise InputError(f"the {what} cannot be read: {error.strerror}", str(path)) from None
    except _NOT_ARRAYS:
        raise _unlike(path, what, hint) from None


def read_npy(path: Path, what: str, hint: str) -> Array:
    """Returns the array of an .npy file. Raises InputError."""
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            _require_room(size, path, what)
            return _array(file, size)
    except OSError as error:
        raise InputError(f"the {what} cannot be read: {error.strerror}", str(path)) from None
    except _NOT_ARRAYS:
        raise InputError(f"the {what} is not an .npy file of plain numbers", str(path), hint) from None


# Raised for damaged files; RuntimeError for encrypted ones, NotImplementedError for unknown compression.
_NOT_ARRAYS = (ValueError, EOFError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error)


def _unlike(path: Path, what: str, hint: str) -> InputError:
    try:
        with path.open("rb") as file:
            is_single = file.read(len(np.lib.format.MAGIC_PREFIX)) == np.lib.format.MAGIC_PREFIX
    except OSError:
        is_single = False
    if is_single:
        return InputError(f"the {what} holds a single array without a name", str(path), hint)
    return InputError(f"the {what} is not an .npz file of plain numbers", str(path), hint)


def _require_room(size: int, path: Path, what: str) -> None:
    if size > MOST_BYTES:
        raise InputError(f"the {what} holds {size:,} bytes, the limit is {MOST_BYTES:,}", str(path))


def _entry(file: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Array:
    with file.open(entry) as stream:
        return _array(stream, entry.file_size)


def _array(stream: IO[bytes], size: int) -> Array:
    """Returns the array of a stream of `size` bytes.

    Raises ValueError if it is larger or contains objects.
    """
    version = np.lib.format.read_magic(stream)
    if version not in _HEADERS:
        raise ValueError
    shape, is_fortran, dtype = _HEADERS[version](stream)
    if dtype.hasobject or min(shape, default=0) < 0 or prod(shape) * dtype.itemsize > size:
        raise ValueError
    data = _whole(stream, prod(shape) * dtype.itemsize)
    array: Array = np.ndarray(shape, dtype, data, order="F" if is_fortran else "C")
    return array


def _whole(stream: IO[bytes], count: int) -> bytearray:
    data = bytearray(count)
    rest = memoryview(data)
    while rest:
        got = stream.readinto(rest)  # type: ignore[attr-defined]  # files and archive entries have readinto()
        if not got:
            raise EOFError
        rest = rest[got:]
    return data
