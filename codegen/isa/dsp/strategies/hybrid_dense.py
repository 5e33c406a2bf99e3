"""Dense layers with dynamically quantized vectors, by SMLAD."""

from __future__ import annotations

from codegen.isa.dsp.needs import NEEDS
from codegen.isa.dsp.strategies.dot_product import GROUP, smlad_dot
from codegen.kernels.hybrid_dense import hybrid_strategy

STRATEGY = hybrid_strategy("smlad", smlad_dot, GROUP, NEEDS)
