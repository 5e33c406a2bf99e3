"""Conversions between every two element types, and bits read as another type."""

from op_case import op_case, plain

from aot.ir.types import DType
from aot.ops.convert import Convert

CASES = (
    *(
        op_case(f"convert_{a.value}_to_{b.value}", Convert(b), [plain(a, 3, 7)], plain(b))
        for a in DType
        for b in DType
    ),
    *(
        op_case(f"convert_bits_of_{a.value}_to_{b.value}", Convert(b, True), [plain(a, 3, 7)], plain(b))
        for a, b in ((DType.F32, DType.I32), (DType.I32, DType.F32), (DType.F32, DType.F32))
    ),
)
