"""The single-precision FPU of Cortex-M cores."""

from __future__ import annotations

from codegen.isa.fpu.needs import NEEDS
from codegen.isa.fpu.strategies import STRATEGIES
from codegen.isa.isa import Isa, listed_strategies
from codegen.kernels.f32_sums import with_fused_sums

ISA = Isa(
    "fpu",
    NEEDS,
    listed_strategies("codegen.isa.fpu.strategies", STRATEGIES),
    rewrite=with_fused_sums,
)
