"""The pipeline of cores that begin two instructions in a cycle: a product, and beside it another one."""

from __future__ import annotations

from codegen.isa.asm_order import Pipeline, Unit

# LDRD begins alone, so words are loaded one by one. What widens begins before its neighbor.
IN_PAIRS = Pipeline(
    2,
    {
        "sxtb16": Unit("pack", 1, 1, 0, is_first=True),
        "sml": Unit("multiply", 1, 1, 1),
        "smu": Unit("multiply", 1, 1, 1),
        "ldr": Unit("load", 1, 1, 2, count=2),
    },
)
