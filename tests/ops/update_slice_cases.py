"""Updates: places that are constant or come with the run, some of them outside; a part as large as all."""

import numpy as np
from drawing import Draw
from op_case import OpCase, constant_of, float32, int8, op_case, plain

from aot.ir.types import DType
from aot.ops.update_slice import UpdateSlice

BEGINS = plain(DType.I32, 2)
INSIDE, OUTSIDE = constant_of(np.array([1, 2], np.int32)), constant_of(np.array([9, -3], np.int32))
PAIR = [int8(4, 5), int8(2, 3)]
CASES = (
    op_case("update_slice_int8", UpdateSlice(), PAIR, int8(), [INSIDE]),
    op_case("update_slice_moved", UpdateSlice(), PAIR, int8(), [OUTSIDE]),
    op_case("update_slice_run", UpdateSlice(), [float32(4, 5), float32(1, 2), BEGINS], float32()),
    op_case("update_slice_all", UpdateSlice(), [int8(4, 5), int8(4, 5), plain(DType.I64, 2)], int8()),
    op_case(
        "update_slice_deep",
        UpdateSlice(),
        [plain(DType.I64, 2, 3, 2, 2), plain(DType.I64, 1, 2, 2, 1), plain(DType.I32, 4)],
        plain(DType.I64),
    ),
)


def _update_slice(draw: Draw) -> OpCase:
    whole = draw.shape(draw.upto(4))
    part = tuple(draw.upto(n) for n in whole)
    dtype = draw.one_of(DType.I8, DType.I32, DType.F32, DType.BOOL)
    begins = constant_of(draw.rng.integers(-2, 7, len(whole)).astype(np.int32))
    return op_case(
        "update_slice", UpdateSlice(), [plain(dtype, *whole), plain(dtype, *part)], plain(dtype), [begins]
    )


SHAPES = {"update_slice": _update_slice}
