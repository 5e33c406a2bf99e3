"""Numbers of fewer bits: half and brain floats, eight bits that saturate, four bits without a NaN."""

from drawing import Draw
from op_case import OpCase, float32, op_case

from aot.ops.round_mantissa import Overflow, RoundMantissa

CASES = (
    op_case("round_to_float16", RoundMantissa(10, -14, 65504.0), [float32(1, 4, 5, 3)], float32()),
    op_case("round_to_bfloat16", RoundMantissa(7, -126, 3.3895313892515355e38), [float32(2, 7)], float32()),
    op_case("round_to_float8", RoundMantissa(3, -6, 448.0, Overflow.LARGEST), [float32(1, 9)], float32()),
    op_case("round_to_float8_wide", RoundMantissa(2, -14, 57344.0), [float32(1, 9)], float32()),
    op_case("round_to_float4", RoundMantissa(1, 0, 6.0, Overflow.LARGEST, False), [float32(1, 1)], float32()),
)


def _round_mantissa(draw: Draw) -> OpCase:
    op = draw.one_of(RoundMantissa(10, -14, 65504.0), RoundMantissa(3, -6, 448.0), RoundMantissa(1, 0, 6.0))
    return op_case("round_mantissa", op, [float32(*draw.shape(draw.upto(4)))], float32())


SHAPES = {"round_mantissa": _round_mantissa}
