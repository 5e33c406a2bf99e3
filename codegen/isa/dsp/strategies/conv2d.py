"""conv2d by SMLAD."""

from __future__ import annotations

from aot.target import Optimize
from codegen.isa.dsp.needs import FINDS_WORDS, NEEDS, row_bytes
from codegen.isa.dsp.strategies.dot_product import GROUP, smlad_dot
from codegen.isa.dsp.strategies.four_bits import four_bit_dots, four_bit_tail
from codegen.isa.dsp.strategies.paired_rows import paired_rows, saves_cycles
from codegen.isa.dsp.strategies.paired_weights import can_pair
from codegen.kernels.conv2d import (
    conv2d_strategy,
    conv_op,
    conv_tail,
    fitted_conv_tail,
    sums_of_32_bits,
)
from codegen.kernels.dot_product import DotProblem, ScheduledDot
from codegen.kernels.four_bit_weights import WindowOfPairs
from codegen.kernels.kernel import Site
from codegen.kernels.paired_rows import in_order_of_windows
from codegen.kernels.paired_weights import enlarged_tail
from codegen.kernels.requantised import Requantised
from codegen.kernels.strategy import INTEGERS, NOT_FOR_SIZE, Condition


def _is_paired(site: Site) -> bool:
    """Returns True if weights are processed in pairs: if that is faster and memory suffices for factors."""
    w, op = site.constants[1], conv_op(site)
    channels, rows, columns, depth = w.shape
    is_bare = site.unpadded and op.padding[1] != (0, 0)
    return (
        site.allow_widened_rows
        and site.optimize is Optimize.SPEED  # for less RAM, 16-bit rows fit more often
        and op.dilation[1] == 1
        and not is_bare
        and saves_cycles(site.outputs[0].shape[2], channels, rows, columns * depth)
        and can_pair(site, conv_tail(site), in_order_of_windows(w))
    )


def _four_bit_tail(site: Site) -> Requantised | None:
    """Returns the tail for halfwords of four weights, or None if they cannot be used."""
    w, op = site.constants[1], conv_op(site)
    is_bare = site.unpadded and op.padding[1] != (0, 0)
    if not site.allow_widened_rows or op.dilation[1] > 1 or is_bare:
        return None
    return four_bit_tail(site, conv_tail(site), WindowOfPairs(w.shape[1], w.shape[2] * w.shape[3]))


def _dot(site: Site, p: DotProblem) -> ScheduledDot:
    if _four_bit_tail(site) is not None:
        return four_bit_dots(site, p)
    return paired_rows(site, p) if _is_paired(site) else smlad_dot(site, p)


def _tail(site: Site) -> Requantised:
    if (tail := _four_bit_tail(site)) is not None:
        return tail
    if _is_paired(site):
        return enlarged_tail(conv_tail(site), in_order_of_windows(site.constants[1]))
    return fitted_conv_tail(site)


def _row_bytes(site: Site) -> int:
    return row_bytes(site, makes_factors=_four_bit_tail(site) is not None or _is_paired(site))


def _may_widen(site: Site) -> bool:
    return site.allow_widened_rows


STRATEGY = conv2d_strategy(
    "smlad",
    _dot,
    _row_bytes,
    GROUP,
    leaves_out_taps=True,
    needs=NEEDS,
    fits=(INTEGERS, FINDS_WORDS, Condition("sums of 32 bits", sums_of_32_bits)),
    adds_in_store=(
        # The addend's row must be live together with the rows that are read.
        Condition("layers whose rows may be widened", _may_widen),
        NOT_FOR_SIZE,
    ),
    tail_of=_tail,
)
