"""conv2d on Helium: reads rows of 8 or 16 bits in place."""

from __future__ import annotations

from codegen.isa.helium.needs import NEEDS
from codegen.isa.helium.schedules.dot_product import helium_dot
from codegen.kernels.conv2d import conv2d_schedule, conv_tail
from codegen.kernels.dot_product import stored_bytes
from codegen.kernels.schedule import ADDS_NOTHING, BYTES_AS_WEIGHTS

SCHEDULE = conv2d_schedule(
    "helium", helium_dot, stored_bytes, needs=NEEDS, fits=(BYTES_AS_WEIGHTS, ADDS_NOTHING), tail_of=conv_tail
)
