"""Running sums: axes, directions, exclusive ones, element types."""

from op_case import float32, int8, op_case, plain

from aot.ir.types import DType
from aot.ops.cumulate import Cumulate

CASES = (
    op_case("cumulate_first", Cumulate(0), [float32(3, 4, 2)], float32()),
    op_case("cumulate_exclusive", Cumulate(1, exclusive=True), [float32(3, 4, 2)], float32()),
    op_case("cumulate_reverse", Cumulate(2, reverse=True), [plain(DType.I32, 3, 4, 5)], plain(DType.I32)),
    op_case("cumulate_both", Cumulate(1, True, True), [plain(DType.I64, 3, 4, 2)], plain(DType.I64)),
    op_case("cumulate_int8", Cumulate(1), [int8(3, 4, zero_point=0)], int8(scale=0.2)),
    op_case("cumulate_int8_zero", Cumulate(1), [int8(3, 4, zero_point=9)], int8(scale=0.3, zero_point=-40)),
    op_case("cumulate_int8_reverse", Cumulate(0, reverse=True), [int8(5, 4)], int8(scale=0.2)),
)
