"""Means: over rows, columns and both, of one pixel and of many."""

from op_case import OpCase, in_powers, int8, int16, op_case

from aot.ir.types import TensorType
from aot.ops.mean import COLUMNS, ROWS, Mean
from aot.ops.rounding import RequantRounding


def case(name: str, op: Mean, x: TensorType, out: TensorType) -> OpCase:
    return op_case(f"mean_{name}", op, [x], out)


CASES: tuple[OpCase, ...] = (
    case("all", Mean(), int8(1, 7, 5, 3, zero_point=-9), int8(scale=0.02, zero_point=7)),
    case("same_scale", Mean(), int8(1, 6, 6, 5, zero_point=11), int8(zero_point=11)),
    case("once", Mean(rounding=RequantRounding.SINGLE), int8(1, 5, 7, 3, zero_point=-9), int8(scale=0.02)),
    case("once_columns", Mean((COLUMNS,), RequantRounding.SINGLE), int16(1, 4, 7, 3), int16(scale=0.0021)),
    case("coarser", Mean(), int8(1, 3, 4, 9), int8(scale=0.13, zero_point=-128)),
    case("rows", Mean((ROWS,)), int8(1, 4, 5, 3, zero_point=4), int8(scale=0.03)),
    case("columns", Mean((COLUMNS,)), int8(1, 4, 5, 3, zero_point=4), int8(scale=0.03)),
    case("one_pixel", Mean(), int8(1, 1, 1, 7), int8(scale=0.06, zero_point=1)),
    case("one_row", Mean(), int8(1, 1, 9, 2), int8(scale=0.02)),
    case("int16", Mean(), int16(1, 4, 5, 3), int16(scale=0.0007)),
    case("int16_columns", Mean((COLUMNS,)), int16(1, 4, 7, 3), int16(scale=0.00021)),
    case("finer_than_its_elements", Mean((COLUMNS,)), int8(1, 2, 2, 5, scale=0.5), int8(scale=0.04)),
    case("saturating", Mean(), int8(1, 1, 2, 30), int8(scale=0.04)),
)
CASES += in_powers(CASES, "mean_all", "mean_coarser", "mean_columns")
