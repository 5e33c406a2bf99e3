"""Converts bytes between int8 and uint8 by inverting the highest bit, four bytes at a time."""

from __future__ import annotations

from aot.ir.types import DType
from codegen.isa.plain.scalar import flipped_byte
from codegen.loops.affine import variable
from codegen.loops.ir import Apply, Buffer, For, Instruction, Role, ScalarFunction, Store, at, load

_OTHER = {DType.I8: DType.U8, DType.U8: DType.I8}


def flipped_bytes(to: DType, count: int) -> Instruction:
    """y[i] = flipped_byte(x[i]). It is correct for any alignment, but slow if words must be aligned."""
    byte, source = flipped_byte(to), _OTHER[to]
    x, y = Buffer("x", source, 0, Role.INPUT), Buffer("y", to, 0, Role.OUTPUT)
    i = variable("i")
    name = f"{byte.name}s"
    return Instruction(
        name=name,
        params=(y, x),
        body=(For("i", count, (Store(at(y, i), Apply(byte, (load(x, i),))),)),),
        call=f"{name}({{y}}, {{x}}, {{count}});",
        definition=_definition(name, byte, source),
        includes=("string.h",),
        calls=(byte,),
        numbers=(("count", count),),
    )


def _definition(name: str, byte: ScalarFunction, source: DType) -> str:
    return f"""\
/* A byte's highest bit is turned: two words at a time, then one by one. */
static inline void {name}({byte.result.c_name} *restrict y, const {source.c_name} *restrict x, int32_t count)
{{
    int32_t i = 0;
    for (; i + 8 <= count; i += 8) {{
        uint32_t words[2];
        memcpy(words, x + i, sizeof words);
        words[0] ^= UINT32_C(0x80808080);
        words[1] ^= UINT32_C(0x80808080);
        memcpy(y + i, words, sizeof words);
    }}
    for (; i < count; ++i) {{
        y[i] = {byte.name}(x[i]);
    }}
}}
"""
