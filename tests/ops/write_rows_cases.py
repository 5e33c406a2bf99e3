"""Rows written at positions: of the run or constant, negative, outside, along each axis; shifted rows.

A run refuses indices outside, so positions of the run select rows by equality here.
"""

import numpy as np
from drawing import Draw
from op_case import OpCase, constant_of, float32, int8, op_case, plain

from aot.ir.types import DType
from aot.ops.write_rows import ShiftRows, WriteRows

SOME = constant_of(np.array([2, -1, 7, -9], np.int32))
CASES = (
    op_case("write_rows_first_axis", WriteRows(0), [int8(4, 5), int8(4, 5)], int8(), [SOME]),
    op_case(
        "write_rows_cache",
        WriteRows(2, by_index=False),
        [float32(1, 2, 6, 3), float32(1, 2, 1, 3), plain(DType.I64, 1)],
        float32(),
    ),
    op_case(
        "write_rows_masked", WriteRows(1, by_index=False), [int8(1, 4, 3), int8(1, 4, 3)], int8(), [SOME]
    ),
    op_case(
        "write_rows_columns",
        WriteRows(1, by_index=False),
        [plain(DType.I16, 3, 5), plain(DType.I16, 3, 2), plain(DType.I32, 2)],
        plain(DType.I16),
    ),
    op_case(
        "write_rows_known",
        WriteRows(1),
        [float32(1, 4, 3)],
        float32(),
        [constant_of(np.ones((1, 1, 3), np.float32)), constant_of(np.array([2], np.int64))],
    ),
    op_case("shift_rows_cache", ShiftRows(2), [float32(1, 2, 6, 3), float32(1, 2, 1, 3)], float32()),
    op_case("shift_rows_some", ShiftRows(1), [int8(1, 7, 3), int8(1, 3, 3)], int8()),
    op_case("shift_rows_all", ShiftRows(0), [int8(4, 2), int8(4, 2)], int8()),
)


def _written(draw: Draw) -> OpCase:
    shape = draw.shape(draw.upto(4))
    axis = draw.upto(len(shape)) - 1
    count = draw.upto(shape[axis])
    part = tuple(count if a == axis else size for a, size in enumerate(shape))
    dtype = draw.one_of(DType.I8, DType.I32, DType.F32, DType.BOOL)
    places = constant_of(draw.rng.integers(-8, 8, count).astype(np.int32))
    op = WriteRows(axis, draw.one_of(True, False))
    return op_case("write_rows", op, [plain(dtype, *shape), plain(dtype, *part)], plain(dtype), [places])


def _shifted(draw: Draw) -> OpCase:
    shape = draw.shape(draw.upto(4))
    axis = draw.upto(len(shape)) - 1
    part = tuple(draw.upto(size) if a == axis else size for a, size in enumerate(shape))
    dtype = draw.one_of(DType.I8, DType.I32, DType.F32, DType.BOOL)
    return op_case("shift_rows", ShiftRows(axis), [plain(dtype, *shape), plain(dtype, *part)], plain(dtype))


SHAPES = {"shift_rows": _shifted, "write_rows": _written}
