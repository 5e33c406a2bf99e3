"""Smoothing: one row, many, several pixels, shifts, a first row that is not zero."""

import numpy as np
from drawing import Draw
from op_case import OpCase, constant_of, float32, op_case, plain

from aot.ir.types import DType
from aot.ops.smooth import Smooth


def case(name: str, op: Smooth, dtype: DType, *sizes: int, goes_on: bool = False) -> OpCase:
    """Shares are different for each channel."""
    row = [plain(dtype, 1, 1, *sizes[1:])] if goes_on else []
    _, width, channels = sizes
    count = np.arange(width * channels).reshape(1, 1, width, channels)
    if dtype is DType.F32:
        shares = [np.asarray(part, np.float32) for part in (0.5 / (count + 2), 1 - 0.5 / (count + 2))]
        return op_case(name, op, [float32(1, *sizes)], float32(), [constant_of(s) for s in shares], row)
    shares = [np.asarray(part, np.uint32) for part in (409 + count, 15975 - count)]
    return op_case(name, op, [plain(dtype, 1, *sizes)], plain(dtype), [constant_of(s) for s in shares], row)


CASES = (
    case("smooth_rows", Smooth(), DType.F32, 7, 1, 5),
    case("smooth_from_one", Smooth(first=1.0), DType.F32, 4, 3, 2),
    case("smooth_row", Smooth(first=-2.5), DType.F32, 1, 1, 1),
    case("smooth_noise", Smooth(10, 14), DType.U32, 6, 1, 40),
    case("smooth_on", Smooth(10, 14), DType.U32, 4, 1, 7, goes_on=True),
    case("smooth_on_numbers", Smooth(), DType.F32, 3, 2, 2, goes_on=True),
    case("smooth_whole", Smooth(0, 14, 7.0), DType.U32, 5, 2, 3),
)


def _smooth(draw: Draw) -> OpCase:
    if draw.chance():
        return case(
            "any", Smooth(first=draw.one_of(0.0, 1.0)), DType.F32, *draw.shape(3, 5), goes_on=draw.chance()
        )
    return case("any", Smooth(draw.upto(10, 0), 14, draw.upto(9, 0)), DType.U32, *draw.shape(3, 5))


SHAPES = {"smooth": _smooth}
