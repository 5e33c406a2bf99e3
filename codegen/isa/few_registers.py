"""Detects compilers that cannot give all registers to one asm statement, which some tiles need."""

from __future__ import annotations

from aot.ir.types import DType
from codegen.loops.ir import ScalarFunction

FEW_REGISTERS = ScalarFunction(
    "FEW_REGISTERS",
    DType.I32,
    """\
/* Some tiles use every general register. clang keeps a few back, and so does code built without optimisation
   or with -fPIC: those builds get the same sums from C. A frame pointer would take one too, so this file has
   none, whatever the options. If another option reserves a register (-ffixed-r9), gcc reports
   "'asm' operand has impossible constraints": then add -DFEW_REGISTERS (`deploy docs own-project`). */
#if defined(__clang__) || !defined(__OPTIMIZE__) || defined(__PIC__)
#ifndef FEW_REGISTERS
#define FEW_REGISTERS
#endif
#endif
#ifndef FEW_REGISTERS
#pragma GCC optimize("omit-frame-pointer")
#endif
""",
    lambda: 0,
    # Before the first function: gcc decides then, for the whole file, if R7 is free, and -Og keeps functions.
    is_of_file=True,
)

# Follows a tile that uses all registers but one. With -O3, gcc unrolls short loops and moves statements of
# the next iteration before the tile, and then lacks registers for their values. It moves none across a block
# boundary.
END_OF_BLOCK = ['    __asm__ goto("" : : : : done); /* nothing is brought forward past the tile */', "done:;"]
