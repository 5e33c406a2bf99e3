"""Energies: a range within, all, none; several vectors, rows of an image, floats."""

from __future__ import annotations

from op_case import float32, op_case, plain

from aot.ir.types import DType
from aot.ops.energy import Energy

CASES = (
    op_case("energy_range", Energy(2, 7), [plain(DType.I16, 18)], plain(DType.U32)),
    op_case("energy_all", Energy(0, 5), [plain(DType.I16, 10)], plain(DType.U32)),
    op_case("energy_none", Energy(3, 3), [plain(DType.I16, 10)], plain(DType.U32)),
    op_case("energy_vectors", Energy(1, 3), [plain(DType.I16, 2, 3, 8)], plain(DType.U32)),
    op_case("energy_image", Energy(1, 5), [plain(DType.I16, 1, 3, 2, 12)], plain(DType.U32)),
    op_case("energy_float32", Energy(0, 4), [float32(2, 10)], float32()),
    op_case("energy_float32_image", Energy(0, 4), [float32(1, 5, 1, 8)], float32()),
)
