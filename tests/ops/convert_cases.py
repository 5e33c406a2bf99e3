"""Conversions between every two element types."""

from __future__ import annotations

from op_case import op_case, plain

from aot.ir.types import DType
from aot.ops.convert import Convert

CASES = tuple(
    op_case(f"convert_{a.value}_to_{b.value}", Convert(b), [plain(a, 3, 7)], plain(b))
    for a in DType
    for b in DType
)
