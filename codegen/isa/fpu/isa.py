"""The single-precision FPU of Cortex-M cores."""

from __future__ import annotations

from codegen.isa.fpu.needs import NEEDS
from codegen.isa.fpu.schedules import SCHEDULES
from codegen.isa.isa import Isa
from codegen.isa.schedule_table import listed_schedules
from codegen.kernels.f32_sums import with_fused_sums

ISA = Isa(
    "fpu",
    NEEDS,
    listed_schedules("codegen.isa.fpu.schedules", SCHEDULES),
    rewrite=with_fused_sums,
)
