"""Curves: each in floats where it is defined, int8 tables, int16, plain integers."""

from op_case import float32, int8, int16, op_case, plain

from aot.ir.types import DType
from aot.ops.unary_math import FLOAT_FUNCTIONS, INTEGERS, MathFunction, UnaryMath

TABLES = (
    MathFunction.ABS,
    MathFunction.RSQRT,
    MathFunction.EXP,
    MathFunction.LOG,
    MathFunction.ELU,
    MathFunction.GELU,
    MathFunction.SQRT,
)
CASES = (
    *(op_case(f"unary_math_{f.value}", UnaryMath(f), [float32(2, 3, 4)], float32()) for f in FLOAT_FUNCTIONS),
    *(
        op_case(f"unary_math_{f.value}_{d.value}", UnaryMath(f), [plain(d, 3, 5)], plain(d))
        for f in INTEGERS
        for d in (DType.I8, DType.I32, DType.I64)
    ),
    *(
        op_case(
            f"unary_math_{f.value}_int8",
            UnaryMath(f),
            [int8(1, 3, 4, 5, zero_point=-20)],
            int8(scale=0.04, zero_point=-9),
        )
        for f in TABLES
    ),
    op_case("unary_math_elu_alpha", UnaryMath(MathFunction.ELU, 0.5), [float32(7)], float32()),
    op_case("unary_math_not_bool", UnaryMath(MathFunction.NOT), [plain(DType.BOOL, 7)], plain(DType.BOOL)),
    op_case("unary_math_abs_int16", UnaryMath(MathFunction.ABS), [int16(3, 9)], int16(scale=0.0007)),
    op_case("unary_math_abs_int16_same", UnaryMath(MathFunction.ABS), [int16(3, 9)], int16()),
    op_case(
        "unary_math_exp_int16", UnaryMath(MathFunction.EXP), [int16(3, 9, scale=0.0001)], int16(scale=0.0012)
    ),
    op_case("unary_math_rsqrt_int16", UnaryMath(MathFunction.RSQRT), [int16(3, 9)], int16(scale=0.0007)),
)
