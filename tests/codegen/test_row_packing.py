"""The bytes of rows in memory: pixels or planes, margins, widened elements."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from artifact.row_packing import pack_rows, rows_crc32
from codegen.formats import RowFormat
from codegen.model import LayerInfo

VALUE = np.arange(1, 9, dtype=np.int8).reshape(1, 2, 2, 2)  # two rows of two pixels of two channels
DENSE = RowFormat(
    dtype_bytes=1, width=2, channels=2, x_step=2, c_step=1, left=0, row_elements=4, top=0, bottom=0, fill=0
)
PLANES = RowFormat(
    dtype_bytes=1, width=2, channels=2, x_step=1, c_step=4, left=1, row_elements=8, top=1, bottom=1, fill=-1
)
WIDE = RowFormat(
    dtype_bytes=2, width=2, channels=2, x_step=2, c_step=1, left=1, row_elements=7, top=0, bottom=0, fill=-128
)
CASES = {
    "dense": (DENSE, np.int8, [1, 2, 3, 4, 5, 6, 7, 8]),
    "planes": (PLANES, np.int8, [-1, 1, 3, -1, -1, 2, 4, -1, -1, 5, 7, -1, -1, 6, 8, -1]),
    "wide": (WIDE, np.int16, [-128, -128, 1, 2, 3, 4, -128, -128, -128, 5, 6, 7, 8, -128]),
}


def layer(fmt: RowFormat) -> LayerInfo:
    return LayerInfo(
        index=0,
        name="c",
        op="conv2d",
        origin="",
        shapes="",
        kernel="",
        why="",
        macs=0,
        weight_bytes=0,
        output="y",
        value="y",
        format=fmt,
        rows=2,
    )


@pytest.mark.parametrize(("fmt", "dtype", "elements"), CASES.values(), ids=CASES)
def test_pixels_lie_where_the_format_says(
    fmt: RowFormat, dtype: type[np.signedinteger], elements: list[int]
) -> None:
    packed = np.frombuffer(pack_rows(VALUE, fmt, 2), dtype)
    assert packed.tolist() == elements


def test_floats_keep_their_bits() -> None:
    fmt = RowFormat(
        dtype_bytes=4,
        width=1,
        channels=2,
        x_step=2,
        c_step=1,
        left=0,
        row_elements=2,
        top=0,
        bottom=0,
        fill=0,
    )
    value = np.array([[1.5, -0.0]], np.float32)
    assert pack_rows(value, fmt, 1) == value.tobytes()


def test_the_checksum_is_of_all_rows_in_order() -> None:
    expected = zlib.crc32(bytes(range(1, 9)))
    assert rows_crc32([VALUE], layer(DENSE)) == expected
