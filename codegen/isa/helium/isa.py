"""Helium, Arm's 16-byte vectors on Cortex-M55 and M85."""

from __future__ import annotations

from codegen.isa.helium.lanes import LANES
from codegen.isa.helium.needs import INCLUDES, NEEDS
from codegen.isa.helium.strategies import STRATEGIES
from codegen.isa.isa import Isa, listed_strategies

_SAVED_BYTES = 64  # d8 to d15, saved by functions that use vectors

ISA = Isa(
    "helium",
    NEEDS,
    listed_strategies("codegen.isa.helium.strategies", STRATEGIES),
    headers=INCLUDES,
    lanes=LANES,
    saved_bytes=_SAVED_BYTES,
)
