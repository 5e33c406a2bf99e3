"""Curves: each in real numbers where it is defined, int8 tables, int16, plain integers."""

from __future__ import annotations

from op_case import float32, int8, int16, op_case, plain

from aot.ir.types import DType
from aot.ops.curve import INTEGERS, REALS, Curve, Function

TABLES = (
    Function.ABS,
    Function.RSQRT,
    Function.EXP,
    Function.LOG,
    Function.ELU,
    Function.GELU,
    Function.SQRT,
)
CASES = (
    *(op_case(f"curve_{f.value}", Curve(f), [float32(2, 3, 4)], float32()) for f in REALS),
    *(
        op_case(f"curve_{f.value}_{d.value}", Curve(f), [plain(d, 3, 5)], plain(d))
        for f in INTEGERS
        for d in (DType.I8, DType.I32, DType.I64)
    ),
    *(
        op_case(
            f"curve_{f.value}_int8",
            Curve(f),
            [int8(1, 3, 4, 5, zero_point=-20)],
            int8(scale=0.04, zero_point=-9),
        )
        for f in TABLES
    ),
    op_case("curve_elu_alpha", Curve(Function.ELU, 0.5), [float32(7)], float32()),
    op_case("curve_not_bool", Curve(Function.NOT), [plain(DType.BOOL, 7)], plain(DType.BOOL)),
    op_case("curve_abs_int16", Curve(Function.ABS), [int16(3, 9)], int16(scale=0.0007)),
    op_case("curve_abs_int16_same", Curve(Function.ABS), [int16(3, 9)], int16()),
    op_case("curve_exp_int16", Curve(Function.EXP), [int16(3, 9, scale=0.0001)], int16(scale=0.0012)),
    op_case("curve_rsqrt_int16", Curve(Function.RSQRT), [int16(3, 9)], int16(scale=0.0007)),
)
