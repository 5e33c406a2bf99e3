"""Pixels of 16 bits: images, vectors, a single one, both orders of bytes."""

from drawing import Draw
from op_case import OpCase, op_case, plain

from aot.ir.types import DType
from aot.ops.unpack_rgb565 import UnpackRgb565

CASES = (
    op_case("unpack_rgb565_image", UnpackRgb565(), [plain(DType.U8, 1, 3, 5, 2)], plain(DType.U8)),
    op_case("unpack_rgb565_high_first", UnpackRgb565(True), [plain(DType.U8, 1, 2, 7, 2)], plain(DType.U8)),
    op_case("unpack_rgb565_vectors", UnpackRgb565(), [plain(DType.U8, 4, 2)], plain(DType.U8)),
    op_case("unpack_rgb565_one", UnpackRgb565(True), [plain(DType.U8, 2)], plain(DType.U8)),
)


def _unpack_rgb565(draw: Draw) -> OpCase:
    shape = draw.one_of((draw.upto(9), 2), (1, draw.upto(4), draw.upto(7), 2))
    return op_case(
        "unpack_rgb565", UnpackRgb565(draw.one_of(False, True)), [plain(DType.U8, *shape)], plain(DType.U8)
    )


SHAPES = {"unpack_rgb565": _unpack_rgb565}
