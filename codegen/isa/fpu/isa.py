"""The single-precision FPU of a Cortex-M."""

from __future__ import annotations

from codegen.isa.fpu.fused_sums import with_fused_sums
from codegen.isa.fpu.needs import NEEDS
from codegen.isa.fpu.schedules.convert import CONVERT
from codegen.isa.fpu.schedules.convolutions import CONV2D, DEPTHWISE_CONV2D
from codegen.isa.isa import Isa

ISA = Isa(
    "fpu",
    NEEDS,
    {"conv2d": (CONV2D,), "convert": (CONVERT,), "depthwise_conv2d": (DEPTHWISE_CONV2D,)},
    rewrite=with_fused_sums,
)
