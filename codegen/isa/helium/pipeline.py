"""The pipeline of Helium cores: a vector instruction occupies its unit for two cycles; units alternate."""

from __future__ import annotations

from codegen.isa.asm import Pipeline, Unit

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


def _with_ends(
    loads: int, stores: int, products: int, others: int, core: int, by_path: bool = True
) -> Pipeline:
    """Returns the pipeline for sums with requantization, with the ranks of its units' instructions."""
    return Pipeline(
        1,
        {
            "vld": Unit("load", 2, 1, loads),
            "vst": Unit("load", 2, 1, stores, late=1),
            "vmla": Unit("multiply", 2, 2, products),
            "vqrdmul": Unit("multiply", 2, 2, 0),
            "vqdmul": Unit("multiply", 2, 2, 0),
            "vqmov": Unit("integer", 2, 3, others),
            "vrshl": Unit("integer", 2, 2, others),
            "vmov": Unit("integer|multiply", 2, 1, others),
            "v": Unit("integer", 2, 1, others),
            "ldr": Unit("core", 1, 2, core),
            "": Unit("core", 1, 1, core),
        },
        by_path,
    )


# Many products keep their unit busy, and requantization fills the cycles between them. If there are few for
# each result, everything else is on the path from load to store, and products are issued last.
WITH_ENDS = (
    _with_ends(loads=0, stores=2, products=1, others=3, core=4, by_path=False),
    _with_ends(loads=1, stores=1, products=1, others=1, core=2),
    _with_ends(loads=1, stores=1, products=2, others=0, core=0),
)
