"""conv2d on Helium: reads rows of 8 or 16 bits in place."""

from __future__ import annotations

from codegen.isa.helium.needs import NEEDS
from codegen.isa.helium.strategies.dot_product import helium_dot
from codegen.kernels.conv2d import conv2d_strategy, conv_tail
from codegen.kernels.dot_product import in_stored_rows
from codegen.kernels.strategy import ADDS_NOTHING, BYTES_AS_WEIGHTS

STRATEGY = conv2d_strategy(
    "helium", in_stored_rows(helium_dot, conv_tail), NEEDS, (BYTES_AS_WEIGHTS, ADDS_NOTHING)
)
