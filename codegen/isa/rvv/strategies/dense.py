"""Dense layers on RISC-V vectors: reads an int8 vector in place."""

from __future__ import annotations

from codegen.isa.rvv.needs import NEEDS
from codegen.isa.rvv.strategies.dot_product import vector_dot
from codegen.kernels.dense import dense_strategy, dense_tail
from codegen.kernels.dot_product import stored_bytes
from codegen.kernels.strategy import BYTES, requantised_in_lanes

STRATEGY = dense_strategy(
    "rvv",
    vector_dot,
    stored_bytes,
    needs=NEEDS,
    fits=(BYTES, requantised_in_lanes(dense_tail)),
    tail_of=dense_tail,
)
