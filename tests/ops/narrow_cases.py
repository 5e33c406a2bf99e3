"""Numbers of fewer bits: half and brain floats, eight bits that saturate, four bits without a NaN."""

from __future__ import annotations

from op_case import float32, op_case

from aot.ops.narrow import Beyond, Narrow

CASES = (
    op_case("narrow_float16", Narrow(10, -14, 65504.0), [float32(1, 4, 5, 3)], float32()),
    op_case("narrow_bfloat16", Narrow(7, -126, 3.3895313892515355e38), [float32(2, 7)], float32()),
    op_case("narrow_float8", Narrow(3, -6, 448.0, Beyond.LARGEST), [float32(1, 9)], float32()),
    op_case("narrow_float8_wide", Narrow(2, -14, 57344.0), [float32(1, 9)], float32()),
    op_case("narrow_float4", Narrow(1, 0, 6.0, Beyond.LARGEST, False), [float32(1, 1)], float32()),
)
