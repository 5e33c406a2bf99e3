"""Selections: element types, a condition that is repeated, a branch that is constant."""

import numpy as np
from op_case import constant_of, float32, int8, op_case, plain

from aot.ir.types import DType
from aot.ops.select import Select


def condition(*shape: int) -> object:
    return plain(DType.BOOL, *shape)


CASES = (
    op_case(
        "select_image", Select(), [plain(DType.BOOL, 1, 3, 4, 2), int8(1, 3, 4, 2), int8(1, 3, 4, 2)], int8()
    ),
    op_case("select_rows", Select(), [plain(DType.BOOL, 3, 1), float32(3, 5), float32(3, 5)], float32()),
    op_case("select_both", Select(), [plain(DType.BOOL, 1, 4), float32(3, 1), float32(1)], float32()),
    op_case(
        "select_i64",
        Select(),
        [plain(DType.BOOL, 4), plain(DType.I64, 4), plain(DType.I64, 4)],
        plain(DType.I64),
    ),
    op_case(
        "select_constant",
        Select(),
        [plain(DType.BOOL, 2, 3), float32(2, 3)],
        float32(),
        [constant_of(np.array([-np.inf], np.float32))],
    ),
)
