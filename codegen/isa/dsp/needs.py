"""What code of the DSP extension needs of a core, and facts about cores that its strategies share."""

from __future__ import annotations

from aot.ir.types import DType
from aot.target import Feature
from codegen.isa.asm import Pipeline, Unit
from codegen.kernels.kernel import Site
from codegen.kernels.strategy import Condition

NEEDS = frozenset({Feature.DSP})
ANY_WORDS = NEEDS | {Feature.UNALIGNED}  # with unaligned 32-bit loads


def needs_of(is_aligned: bool) -> frozenset[Feature]:
    """Returns the needs of a tile; `is_aligned` if all its 32-bit loads are aligned."""
    return NEEDS if is_aligned else ANY_WORDS


# The pipeline of cores that issue two instructions per cycle, at most one of them a product.
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


def row_bytes(site: Site) -> int:
    """Returns the bytes of an element: 2 if memory permits, since SMLAD needs no widening then."""
    return 2 if site.allow_widened_rows or site.input(0).dtype is DType.I16 else 1


UNROLLED_HOT = 16  # in hot layers
_HOT_MACS = 300_000


def is_hot(macs: int) -> bool:
    """Returns True if a layer needs so much time that further unrolling is worth the code."""
    return macs >= _HOT_MACS


_WORD = 4  # int8 elements; wider ones would need fewer


def _finds_words(site: Site) -> bool:
    """Returns True if every pixel is aligned to 4 bytes, or need not be."""
    return site.target.has(Feature.UNALIGNED) or site.input(0).shape[-1] % _WORD == 0


FINDS_WORDS = Condition("channels in fours where words are read at their own addresses", _finds_words)
