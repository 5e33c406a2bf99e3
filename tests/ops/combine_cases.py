"""Combinations: each in the element types it has, operands that are repeated, divisors of 0."""

import numpy as np
from elementwise_shapes import PAIRS
from op_case import OpCase, constant_of, float32, int8, int16, op_case, plain

from aot.ir.types import DType, TensorType
from aot.ops.combine import Combination, Combine

INTEGERS = (DType.I8, DType.U8, DType.I16, DType.I32, DType.I64)
LOGIC = (Combination.AND, Combination.OR, Combination.XOR)
EXTREMES = (Combination.MAXIMUM, Combination.MINIMUM)
DIVISIONS = (Combination.FLOOR_DIV, Combination.FLOOR_MOD, Combination.REMAINDER)
SHIFTS = (Combination.SHIFT_LEFT, Combination.SHIFT_RIGHT)


def case(name: str, by: Combination, x: TensorType, y: TensorType) -> OpCase:
    return op_case(f"combine_{by.value}_{name}", Combine(by), [x, y], TensorType(x.dtype, (), x.quant))


def integers(by: Combination, dtype: DType) -> OpCase:
    """Small numbers, 0 among them, against any."""
    small = np.arange(-3, 4) if dtype is not DType.U8 else np.arange(7)
    right = constant_of(small.astype(dtype.numpy))
    name = f"combine_{by.value}_{dtype.value}"
    return op_case(name, Combine(by), [plain(dtype, 3, 7)], plain(dtype), [right])


CASES = (
    *(integers(by, dtype) for by in (*EXTREMES, *DIVISIONS, *LOGIC, *SHIFTS) for dtype in INTEGERS),
    *(case("bool", by, plain(DType.BOOL, 2, 5), plain(DType.BOOL, 5)) for by in LOGIC),
    *(case(f"{n}_f32", Combination.MAXIMUM, float32(*a), float32(*b)) for n, (a, b) in PAIRS.items()),
    *(case(n, Combination.MINIMUM, int8(*a), int8(*b)) for n, (a, b) in PAIRS.items()),
    *(case("f32", by, float32(2, 5), float32(5)) for by in (*DIVISIONS, Combination.ATAN2)),
    case("i16_quantised", Combination.MAXIMUM, int16(3, 5), int16(3, 1)),
    op_case(
        "combine_power",
        Combine(Combination.POWER),
        [float32(2, 3)],
        float32(),
        [constant_of(np.array([2, 0, 3], np.float32))],
    ),
)
