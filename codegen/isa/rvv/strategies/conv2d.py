"""conv2d on RISC-V vectors: reads int8 rows in place."""

from __future__ import annotations

from codegen.isa.rvv.needs import NEEDS
from codegen.isa.rvv.strategies.dot_product import vector_dot
from codegen.kernels.conv2d import conv2d_strategy, conv_tail
from codegen.kernels.dot_product import stored_bytes
from codegen.kernels.strategy import BYTES, requantised_in_lanes

STRATEGY = conv2d_strategy(
    "rvv",
    vector_dot,
    stored_bytes,
    needs=NEEDS,
    fits=(BYTES, requantised_in_lanes(conv_tail)),
    tail_of=conv_tail,
)
