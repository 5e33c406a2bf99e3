"""The pipeline of cores that issue two instructions per cycle, at most one of them a product."""

from __future__ import annotations

from codegen.isa.asm_order import Pipeline, Unit

# LDRD is issued alone, so words are loaded one by one. Widening instructions are issued first in a cycle.
IN_PAIRS = Pipeline(
    2,
    {
        "sxtb16": Unit("pack", 1, 1, 0, is_first=True),
        "sml": Unit("multiply", 1, 1, 1),
        "smu": Unit("multiply", 1, 1, 1),
        "ldr": Unit("load", 1, 1, 2, count=2),
    },
)
