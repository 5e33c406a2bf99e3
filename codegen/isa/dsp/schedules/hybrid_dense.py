"""Dense layers with dynamically quantized vectors, by SMLAD."""

from __future__ import annotations

from codegen.isa.dsp.needs import NEEDS
from codegen.isa.dsp.schedules.dot_product import GROUP, smlad_dot
from codegen.kernels.hybrid_dense import hybrid_schedule

SCHEDULE = hybrid_schedule("smlad", smlad_dot, GROUP, NEEDS)
