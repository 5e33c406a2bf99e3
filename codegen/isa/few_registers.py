"""Tells compilers that leave all registers to one asm statement from others: some tiles need every one."""

from __future__ import annotations

from aot.ir.types import DType
from codegen.loops.ir import ScalarFunction

FEW_REGISTERS = ScalarFunction(
    "FEW_REGISTERS",
    DType.I32,
    """\
/* Some tiles use every register. clang reserves a few, and so does code built without optimisation or with
   -fPIC: those builds use the C version instead. If another option reserves one (-ffixed-r9,
   -fno-omit-frame-pointer, sometimes -Og), gcc reports "'asm' operand has impossible constraints" or
   "r7 cannot be used in 'asm' here": then add -DFEW_REGISTERS (`deploy docs own-project`). */
#if defined(__clang__) || !defined(__OPTIMIZE__) || defined(__PIC__)
#ifndef FEW_REGISTERS
#define FEW_REGISTERS
#endif
#endif
""",
    lambda: 0,
)

# Behind a tile that takes all registers but one. With -O3 gcc writes short loops out and brings statements of
# the next turn forward past the tile, whose values then find no register; it brings none into another block.
END_OF_BLOCK = ['    __asm__ goto("" : : : : done); /* nothing is brought forward past the tile */', "done:;"]
