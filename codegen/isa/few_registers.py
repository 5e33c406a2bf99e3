"""Tells compilers that leave all registers to one asm statement from others: some tiles need every one."""

from __future__ import annotations

from aot.ir.types import DType
from codegen.loops.ir import ScalarFunction

FEW_REGISTERS = ScalarFunction(
    "FEW_REGISTERS",
    DType.I32,
    """\
/* Some tiles take every register. clang keeps some to itself, as does code that is not optimised or that is
   independent of its position: it has no such tiles. Other options that do, such as -ffixed-r9,
   -fno-omit-frame-pointer and at times -Og, are told of by "'asm' operand has impossible constraints" or
   "r7 cannot be used in 'asm' here": compile with -DFEW_REGISTERS then, as `deploy docs own-project`
   says. */
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
