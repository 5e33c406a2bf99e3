"""Tells compilers that leave all registers to one asm statement from others: some tiles need every one."""

from __future__ import annotations

from aot.ir.types import DType
from codegen.loops.ir import ScalarFunction

FEW_REGISTERS = ScalarFunction(
    "FEW_REGISTERS",
    DType.I32,
    """\
/* Some tiles take every register. clang keeps some to itself, as does code that is not optimised or that is
   independent of its position. Other options that do, such as -fno-omit-frame-pointer, -ffixed-r9 or -Og,
   are told of by "'asm' operand has impossible constraints" or "r7 cannot be used in 'asm' here": compile
   with -DFEW_REGISTERS then. */
#if defined(__clang__) || !defined(__OPTIMIZE__) || defined(__PIC__)
#ifndef FEW_REGISTERS
#define FEW_REGISTERS
#endif
#endif
""",
    lambda: 0,
)
