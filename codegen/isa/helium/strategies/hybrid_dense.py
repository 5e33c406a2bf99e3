"""Dense layers with dynamically quantized vectors, sixteen products of bytes at a time."""

from __future__ import annotations

from aot.ir.types import DType
from codegen.isa.helium.dots import LANES
from codegen.isa.helium.needs import NEEDS
from codegen.isa.helium.strategies.dot_product import helium_dot
from codegen.kernels.hybrid_dense import hybrid_strategy

STRATEGY = hybrid_strategy("helium", helium_dot, LANES, NEEDS, DType.I8)
