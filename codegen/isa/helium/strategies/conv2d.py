"""conv2d on Helium: reads rows of 8 or 16 bits in place."""

from __future__ import annotations

from codegen.isa.helium.needs import NEEDS
from codegen.isa.helium.strategies.dot_product import helium_dot
from codegen.kernels.conv2d import conv2d_strategy, conv_tail
from codegen.kernels.dot_product import stored_bytes
from codegen.kernels.strategy import ADDS_NOTHING, BYTES_AS_WEIGHTS

STRATEGY = conv2d_strategy(
    "helium", helium_dot, stored_bytes, needs=NEEDS, fits=(BYTES_AS_WEIGHTS, ADDS_NOTHING), tail_of=conv_tail
)
