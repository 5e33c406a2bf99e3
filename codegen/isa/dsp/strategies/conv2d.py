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
    conv_tail,
    fitted_conv_tail,
    has_whole_windows,
)
from codegen.kernels.dot_product import DotMethod
from codegen.kernels.four_bit_weights import WindowOfPairs
from codegen.kernels.kernel import Site
from codegen.kernels.paired_rows import in_order_of_windows
from codegen.kernels.paired_weights import enlarged_tail
from codegen.kernels.strategy import INTEGERS, NOT_FOR_SIZE, Condition, sums_of_32_bits


def _method(site: Site) -> DotMethod:
    """Returns the first possible method: by weights of four bits, by pairs of them, then by single ones.

    The first two compute factors of the pixels in scratch, from whole windows of int8 rows.
    """
    w, tail = site.constants[1], conv_tail(site)
    _, rows, columns, depth = w.shape
    if site.allow_widened_rows and has_whole_windows(site):
        four_bits = four_bit_tail(site, tail, WindowOfPairs(rows, columns * depth))
        if four_bits is not None:
            return DotMethod(four_bit_dots, four_bits, 1, GROUP)
        if _pairs_pay(site) and can_pair(site, tail, in_order_of_windows(w)):
            return DotMethod(paired_rows, enlarged_tail(tail, in_order_of_windows(w)), 1, GROUP)
    return DotMethod(smlad_dot, fitted_conv_tail(site), row_bytes(site), GROUP, leaves_out_taps=True)


def _pairs_pay(site: Site) -> bool:
    channels, rows, columns, depth = site.constants[1].shape
    is_for_speed = site.optimize is Optimize.SPEED  # for less RAM, 16-bit rows fit more often
    return is_for_speed and saves_cycles(site.outputs[0].shape[2], channels, rows, columns * depth)


def _may_widen(site: Site) -> bool:
    return site.allow_widened_rows


STRATEGY = conv2d_strategy(
    "smlad",
    _method,
    NEEDS,
    (INTEGERS, FINDS_WORDS, sums_of_32_bits(conv_tail)),
    adds_in_store=(
        # The addend's row must be live together with the rows that are read.
        Condition("layers whose rows may be widened", _may_widen),
        NOT_FOR_SIZE,
    ),
)
