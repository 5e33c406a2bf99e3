"""Comparisons: each relation, element types, quantisations that differ, operands that are repeated."""

import numpy as np
from elementwise_shapes import PAIRS
from op_case import constant_of, float32, int8, int16, op_case, plain

from aot.ir.types import DType
from aot.ops.compare import Compare, Relation

BOOL = plain(DType.BOOL)
CASES = (
    *(op_case(f"compare_{r.value}", Compare(r), [int8(1, 3, 4, 5)] * 2, BOOL) for r in Relation),
    *(
        op_case(f"compare_{n}", Compare(Relation.LESS), [float32(*a), float32(*b)], BOOL)
        for n, (a, b) in PAIRS.items()
    ),
    op_case(
        "compare_scales", Compare(Relation.GREATER), [int8(2, 40, zero_point=9), int8(2, 40, scale=0.3)], BOOL
    ),
    op_case("compare_i16_scales", Compare(Relation.LESS), [int16(7, 9), int16(9, scale=0.0007)], BOOL),
    op_case("compare_i64", Compare(Relation.LESS), [plain(DType.I64, 3, 5)] * 2, BOOL),
    op_case("compare_bool", Compare(Relation.NOT_EQUAL), [plain(DType.BOOL, 3, 5)] * 2, BOOL),
    op_case(
        "compare_i32_constant",
        Compare(),
        [plain(DType.I32, 4)],
        BOOL,
        [constant_of(np.array([1, 2, -(2**31), 4], np.int32))],
    ),
)
