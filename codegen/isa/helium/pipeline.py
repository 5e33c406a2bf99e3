"""The pipeline of cores with Helium: a vector instruction takes its unit two cycles, and units take turns."""

from __future__ import annotations

from codegen.isa.asm_order import Pipeline, Unit

_CORE_RANK = 2  # products first, of which there are most

HELIUM = Pipeline(
    1,
    {
        "vldr": Unit("load", 2, 1, 1),
        "vmla": Unit("multiply", 2, 2, 0),
        "ldr": Unit("core", 1, 2, _CORE_RANK),
        "add": Unit("core", 1, 1, _CORE_RANK),
    },
)
# Sums with what becomes of them: products come last, for all else is on the way from loads to stores.
WITH_ENDS = Pipeline(
    1,
    {
        "vld": Unit("load", 2, 1, 0),
        "vst": Unit("load", 2, 1, 0),
        "vmla": Unit("multiply", 2, 2, 2),
        "vqrdmul": Unit("multiply", 2, 2, 0),
        "vqmov": Unit("integer", 2, 3, 1),
        "vrshl": Unit("integer", 2, 2, 1),
        "v": Unit("integer", 2, 1, 1),
        "ldr": Unit("core", 1, 2, 3),
        "": Unit("core", 1, 1, 3),
    },
)
