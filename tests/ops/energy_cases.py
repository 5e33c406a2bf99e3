"""Energies: a range within, all, none."""

from __future__ import annotations

from op_case import op_case, plain

from aot.ir.types import DType
from aot.ops.energy import Energy

CASES = (
    op_case("energy_range", Energy(2, 7), [plain(DType.I16, 18)], plain(DType.U32)),
    op_case("energy_all", Energy(0, 5), [plain(DType.I16, 10)], plain(DType.U32)),
    op_case("energy_none", Energy(3, 3), [plain(DType.I16, 10)], plain(DType.U32)),
)
