"""The pipeline of Helium cores: a vector instruction occupies its unit for two cycles; units alternate."""

from __future__ import annotations

from codegen.isa.asm_order import Pipeline, Unit

_CORE_RANK = 2  # products first, since they are the most frequent

HELIUM = Pipeline(
    1,
    {
        "vldr": Unit("load", 2, 1, 1),
        "vmla": Unit("multiply", 2, 2, 0),
        "ldr": Unit("core", 1, 2, _CORE_RANK),
        "add": Unit("core", 1, 1, _CORE_RANK),
    },
)
# Sums with requantization: products are issued last, since all others are on the path from load to store.
WITH_ENDS = Pipeline(
    1,
    {
        "vld": Unit("load", 2, 1, 0),
        "vst": Unit("load", 2, 1, 0),
        "vmla": Unit("multiply", 2, 2, 2),
        "vqrdmul": Unit("multiply", 2, 2, 0),
        "vqdmul": Unit("multiply", 2, 2, 0),
        "vqmov": Unit("integer", 2, 3, 1),
        "vrshl": Unit("integer", 2, 2, 1),
        "v": Unit("integer", 2, 1, 1),
        "ldr": Unit("core", 1, 2, 3),
        "": Unit("core", 1, 1, 3),
    },
)
