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


def _with_ends(products: int, stores: int, others: int, core: int) -> Pipeline:
    """Returns the pipeline for sums with requantization, with the ranks of its units' instructions."""
    return Pipeline(
        1,
        {
            "vld": Unit("load", 2, 1, 0),
            "vst": Unit("load", 2, 1, stores),
            "vmla": Unit("multiply", 2, 2, products),
            "vqrdmul": Unit("multiply", 2, 2, 0),
            "vqdmul": Unit("multiply", 2, 2, 0),
            "vqmov": Unit("integer", 2, 3, others),
            "vrshl": Unit("integer", 2, 2, others),
            "v": Unit("integer", 2, 1, others),
            "ldr": Unit("core", 1, 2, core),
            "": Unit("core", 1, 1, core),
        },
    )


# Few products for each result: they are issued last, since all others are on the path from load to store.
WITH_ENDS = _with_ends(products=2, stores=0, others=1, core=3)
# Many products: their unit is never idle, and requantization fills the cycles between them.
BETWEEN_PRODUCTS = _with_ends(products=1, stores=2, others=3, core=4)
