"""Foldings: axes that are apart, element types, scales, and the places of extremes."""

from __future__ import annotations

from op_case import OpCase, float32, int8, int16, op_case, plain

from aot.ir.types import DType
from aot.ops.fold import Fold, Folding, PlaceOf

NUMBERS = (Folding.SUM, Folding.PRODUCT, Folding.MAXIMUM, Folding.MINIMUM)
TRUTH = (Folding.ANY, Folding.ALL)
AXES = ((0,), (1, 3), (0, 1, 2, 3), (2, 3))


def reals(by: Folding, axes: tuple[int, ...]) -> OpCase:
    named = "_".join(map(str, axes))
    return op_case(f"fold_{by.value}_{named}", Fold(by, axes), [float32(2, 3, 4, 2)], float32())


CASES = (
    *(reals(by, axes) for by in NUMBERS for axes in AXES if by is not Folding.PRODUCT or len(axes) < 4),
    *(
        op_case(f"fold_{by.value}_{d.value}", Fold(by, (1,)), [plain(d, 3, 5, 2)], plain(d))
        for by in NUMBERS
        for d in (DType.I8, DType.I32, DType.I64)
    ),
    *(
        op_case(f"fold_{by.value}", Fold(by, (1,)), [plain(DType.BOOL, 4, 3)], plain(DType.BOOL))
        for by in TRUTH
    ),
    op_case("fold_sum_int8", Fold(axes=(1, 2)), [int8(1, 3, 4, 5, zero_point=7)], int8(scale=0.3)),
    op_case("fold_sum_int16", Fold(axes=(1,)), [int16(3, 9)], int16(scale=0.003)),
    op_case("fold_maximum_int8", Fold(Folding.MAXIMUM, (1,)), [int8(3, 9)], int8()),
    *(
        op_case(f"place_of_{by.value}_{d.value}", PlaceOf(by, 1, to), [plain(d, 3, 5, 2)], plain(to))
        for by in (Folding.MAXIMUM, Folding.MINIMUM)
        for d, to in ((DType.I8, DType.I32), (DType.F32, DType.I64), (DType.I32, DType.I32))
    ),
)
