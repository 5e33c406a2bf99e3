"""Dense layers by SMLAD."""

from __future__ import annotations

from aot.ir.types import DType
from codegen.isa.dsp.needs import NEEDS
from codegen.isa.dsp.schedules.dot_product import GROUP, smlad_dot
from codegen.isa.dsp.schedules.words import FINDS_WORDS
from codegen.kernels.conditions import INTEGERS
from codegen.kernels.dense import dense_schedule, sums_of_32_bits
from codegen.kernels.kernel import Site
from codegen.kernels.schedule import Condition


def _row_bytes(site: Site) -> int:
    return 2 if site.allow_widened_rows or site.input(0).dtype is DType.I16 else 1


SCHEDULE = dense_schedule(
    "smlad",
    smlad_dot,
    _row_bytes,
    GROUP,
    NEEDS,
    (INTEGERS, FINDS_WORDS, Condition("sums of 32 bits", sums_of_32_bits)),
)
