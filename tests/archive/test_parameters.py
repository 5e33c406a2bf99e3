"""Parameter files in TVM's binary form."""

from __future__ import annotations

import numpy as np
import pytest

from aot.ir.types import Array
from artifact.parameters import ParametersError, pack_parameters, unpack_parameters

ONE_ARRAY = bytes.fromhex(
    "b79c04054f8de5f7 0000000000000000"  # magic of a list, reserved
    "0100000000000000 0100000000000000 77"  # one name of one letter
    "0100000000000000"  # one array
    "3fa1b496f0405edd 0000000000000000"  # magic of an array, reserved
    "01000000 00000000 02000000"  # the CPU, number 0, rank 2
    "00 10 0100"  # signed integers of 16 bits, one lane
    "0100000000000000 0200000000000000"  # shape
    "0400000000000000 0100 feff"  # four bytes: 1 and -2
)
ARRAYS: dict[str, Array] = {
    "bytes": np.arange(-3, 3, dtype=np.int8).reshape(2, 1, 3),
    "unsigned": np.array([0, 255], np.uint8),
    "words": np.array([0, 2**32 - 1], np.uint32),
    "longest": np.array([2**64 - 1], np.uint64),
    "bias/µ": np.array([-(2**31), 7], np.int32),
    "wide": np.array([2**40], np.int64),
    "real": np.array([[0.1]], np.float32),
    "flags": np.array([True, False]),
    "scalar": np.array(5, np.int16),
    "empty": np.zeros((0, 4), np.float32),
}


def test_the_bytes_are_those_of_the_format() -> None:
    array = np.array([[1, -2]], np.int16)
    assert pack_parameters({"w": array}) == ONE_ARRAY
    assert unpack_parameters(ONE_ARRAY)["w"].tolist() == [[1, -2]]


def test_arrays_come_back() -> None:
    found = unpack_parameters(pack_parameters(ARRAYS))
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tolist() == array.tolist()


def test_no_arrays_are_a_file_too() -> None:
    assert unpack_parameters(pack_parameters({})) == {}


@pytest.mark.parametrize("cut", range(len(ONE_ARRAY)))
def test_a_cut_file_is_refused(cut: int) -> None:
    with pytest.raises(ParametersError, match=f"ends after {cut} bytes"):
        unpack_parameters(ONE_ARRAY[:cut])


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        (0, 0, "does not start"),
        (33, 2, "numbers of arrays and names differ"),
        (41, 0, "unknown format"),  # the array's magic
        (65, 17, "unknown format"),  # rank
        (70, 3, "unknown format"),  # bits
        (73, 9, "does not match its shape"),
    ],
)
def test_a_file_of_another_form_is_refused(place: int, value: int, says: str) -> None:
    changed = bytearray(ONE_ARRAY)
    changed[place] = value
    with pytest.raises(ParametersError, match=says):
        unpack_parameters(bytes(changed))
