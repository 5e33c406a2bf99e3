"""Converts a byte between int8 and uint8 by an offset of 128."""

from __future__ import annotations

from aot.ir.types import DType
from codegen.isa.plain.plain import expression_function
from codegen.loops.ir import ScalarFunction

_BYTES = {
    DType.I8: expression_function(
        "signed_byte", DType.I8, (DType.U8,), "(int8_t)(a - 128)", lambda a: int(a) - 128
    ),
    DType.U8: expression_function(
        "unsigned_byte", DType.U8, (DType.I8,), "(uint8_t)(a + 128)", lambda a: int(a) + 128
    ),
}


def flipped_byte(to: DType) -> ScalarFunction:
    return _BYTES[to]
