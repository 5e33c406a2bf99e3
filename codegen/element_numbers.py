"""The element types by their numbers in firmware: enum solder_dtype in solder_model.h."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from aot.ir.types import DType

ELEMENT_TYPES: Mapping[int, DType] = MappingProxyType(
    {
        1: DType.I8,
        2: DType.U8,
        3: DType.I16,
        4: DType.I32,
        5: DType.I64,
        6: DType.F32,
        7: DType.BOOL,
        8: DType.U32,
        9: DType.U64,
    }
)
ELEMENT_NUMBERS: Mapping[DType, int] = MappingProxyType(
    {dtype: number for number, dtype in ELEMENT_TYPES.items()}
)
