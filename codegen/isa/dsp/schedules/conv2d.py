"""conv2d by SMLAD."""

from __future__ import annotations

from aot.ir.types import DType
from codegen.isa.dsp.needs import NEEDS
from codegen.isa.dsp.schedules.dot_product import GROUP, smlad_dot
from codegen.isa.dsp.schedules.words import FINDS_WORDS
from codegen.kernels.conditions import INTEGERS, NOT_FOR_SIZE
from codegen.kernels.conv2d import conv2d_schedule, depth_of, sums_of_32_bits
from codegen.kernels.kernel import Site
from codegen.kernels.schedule import Condition


def _row_bytes(site: Site) -> int:
    """16 bits wide where memory allows: SMLAD reads them without widening."""
    return 2 if site.allow_widened_rows or site.input(0).dtype is DType.I16 else 1


def _may_widen(site: Site) -> bool:
    return site.allow_widened_rows


SCHEDULE = conv2d_schedule(
    "smlad",
    smlad_dot,
    _row_bytes,
    GROUP,
    leaves_out_taps=lambda site: depth_of(site) % GROUP == 0,  # weights are packed in groups
    needs=NEEDS,
    fits=(INTEGERS, FINDS_WORDS, Condition("sums of 32 bits", sums_of_32_bits)),
    adds_in_store=(
        # The row that is added must be there together with those that are read.
        Condition("layers whose rows may be widened", _may_widen),
        NOT_FOR_SIZE,
    ),
)
