"""Dense layers on Helium: reads a vector of 8 or 16 bits in place."""

from __future__ import annotations

from codegen.isa.helium.needs import NEEDS
from codegen.isa.helium.strategies.dot_product import helium_dot
from codegen.kernels.dense import dense_strategy, dense_tail
from codegen.kernels.dot_product import in_stored_rows
from codegen.kernels.strategy import BYTES_AS_WEIGHTS

STRATEGY = dense_strategy("helium", in_stored_rows(helium_dot, dense_tail), NEEDS, (BYTES_AS_WEIGHTS,))
