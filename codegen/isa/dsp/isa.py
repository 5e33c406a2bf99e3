"""Arm's DSP extension: two 16-bit products per instruction, and rounding high products."""

from __future__ import annotations

from codegen.isa.dsp.lanes import LANES
from codegen.isa.dsp.needs import NEEDS
from codegen.isa.dsp.scalar_math import with_dsp
from codegen.isa.dsp.strategies import STRATEGIES
from codegen.isa.isa import Isa, listed_strategies
from codegen.kernels.requantised import with_joined_tables

ISA = Isa(
    "dsp",
    NEEDS,
    listed_strategies("codegen.isa.dsp.strategies", STRATEGIES),
    math=with_dsp,
    rewrite=with_joined_tables,
    lanes=LANES,
)
