"""Reductions: axes that are apart, element types, scales, and the places of extremes."""

from op_case import OpCase, float32, int8, int16, op_case, plain

from aot.ir.types import DType
from aot.ops.reduce import ArgExtreme, Reduce, Reduction

NUMBERS = (Reduction.SUM, Reduction.PRODUCT, Reduction.MAXIMUM, Reduction.MINIMUM)
TRUTH = (Reduction.ANY, Reduction.ALL)
AXES = ((0,), (1, 3), (0, 1, 2, 3), (2, 3))


def floats(by: Reduction, axes: tuple[int, ...]) -> OpCase:
    named = "_".join(map(str, axes))
    return op_case(f"reduce_{by.value}_{named}", Reduce(by, axes), [float32(2, 3, 4, 2)], float32())


CASES = (
    *(floats(by, axes) for by in NUMBERS for axes in AXES if by is not Reduction.PRODUCT or len(axes) < 4),
    *(
        op_case(f"reduce_{by.value}_{d.value}", Reduce(by, (1,)), [plain(d, 3, 5, 2)], plain(d))
        for by in NUMBERS
        for d in (DType.I8, DType.I32, DType.I64)
    ),
    *(
        op_case(f"reduce_{by.value}", Reduce(by, (1,)), [plain(DType.BOOL, 4, 3)], plain(DType.BOOL))
        for by in TRUTH
    ),
    op_case("reduce_sum_int8", Reduce(axes=(1, 2)), [int8(1, 3, 4, 5, zero_point=7)], int8(scale=0.3)),
    op_case("reduce_sum_int16", Reduce(axes=(1,)), [int16(3, 9)], int16(scale=0.003)),
    op_case("reduce_maximum_int8", Reduce(Reduction.MAXIMUM, (1,)), [int8(3, 9)], int8()),
    *(
        op_case(f"place_of_{by.value}_{d.value}", ArgExtreme(by, 1, to), [plain(d, 3, 5, 2)], plain(to))
        for by in (Reduction.MAXIMUM, Reduction.MINIMUM)
        for d, to in ((DType.I8, DType.I32), (DType.F32, DType.I64), (DType.I32, DType.I32))
    ),
)
