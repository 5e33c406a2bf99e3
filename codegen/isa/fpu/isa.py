"""The single-precision FPU of Cortex-M cores."""

from __future__ import annotations

from aot.target import Target
from codegen.isa.fpu.needs import NEEDS
from codegen.isa.fpu.strategies import STRATEGIES
from codegen.isa.isa import Isa, listed_strategies
from codegen.isa.plain.f32 import APART, FUSED
from codegen.kernels.f32_sums import with_fused_sums
from codegen.kernels.kernel import Kernel


def _with_sums(kernel: Kernel, target: Target) -> Kernel:
    return with_fused_sums(kernel, APART if target.adds_apart else FUSED)


ISA = Isa(
    "fpu",
    NEEDS,
    listed_strategies("codegen.isa.fpu.strategies", STRATEGIES),
    rewrite=_with_sums,
)
