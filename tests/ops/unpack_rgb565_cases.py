"""Pixels of 16 bits: images, vectors, a single one, both orders of bytes."""

from __future__ import annotations

from op_case import op_case, plain

from aot.ir.types import DType
from aot.ops.unpack_rgb565 import UnpackRgb565

CASES = (
    op_case("unpack_rgb565_image", UnpackRgb565(), [plain(DType.U8, 1, 3, 5, 2)], plain(DType.U8)),
    op_case("unpack_rgb565_high_first", UnpackRgb565(True), [plain(DType.U8, 1, 2, 7, 2)], plain(DType.U8)),
    op_case("unpack_rgb565_vectors", UnpackRgb565(), [plain(DType.U8, 4, 2)], plain(DType.U8)),
    op_case("unpack_rgb565_one", UnpackRgb565(True), [plain(DType.U8, 2)], plain(DType.U8)),
)
