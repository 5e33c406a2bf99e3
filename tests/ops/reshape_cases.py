"""Reshapes: to more, fewer and other dimensions."""

from op_case import float32, int8, op_case

from aot.ops.reshape import Reshape

CASES = (
    op_case("reshape_flatten", Reshape((1, 24)), [int8(1, 2, 4, 3)], int8()),
    op_case("reshape_image", Reshape((1, 4, 3, 1)), [int8(1, 12)], int8()),
    op_case("reshape_same", Reshape((1, 12)), [int8(1, 12)], int8()),
    op_case("reshape_float32", Reshape((6,)), [float32(2, 3)], float32()),
)
