"""Dense layers by SMLAD."""

from __future__ import annotations

from codegen.isa.dsp.needs import FINDS_WORDS, NEEDS, row_bytes
from codegen.isa.dsp.strategies.dot_product import GROUP, smlad_dot
from codegen.isa.dsp.strategies.four_bits import four_bit_dots, four_bit_tail
from codegen.isa.dsp.strategies.paired_weights import can_pair, paired_vector
from codegen.kernels.dense import dense_strategy, dense_tail, fitted_dense_tail, sums_of_32_bits
from codegen.kernels.dot_product import DotProblem, ScheduledDot
from codegen.kernels.four_bit_weights import WindowOfPairs
from codegen.kernels.kernel import Site
from codegen.kernels.paired_weights import enlarged_tail
from codegen.kernels.requantised import Requantised
from codegen.kernels.strategy import INTEGERS, Condition

_LEAST_CHANNELS = 4  # that share the factors of the input
_LEAST_MACS = 1024  # smaller layers gain too little for the code


def _is_paired(site: Site) -> bool:
    """Returns True if weights are processed in pairs, with factors computed from an int8 vector."""
    w = site.constants[1]
    is_vector = w.shape[1] == site.input(0).shape[-1]
    is_large = w.shape[0] >= _LEAST_CHANNELS and w.size >= _LEAST_MACS
    return is_vector and is_large and can_pair(site, dense_tail(site), w)


def _four_bit_tail(site: Site) -> Requantised | None:
    """Returns the tail for halfwords of four weights, or None if they cannot be used."""
    length = site.constants[1].shape[1]
    is_vector = length == site.input(0).shape[-1]
    return four_bit_tail(site, dense_tail(site), WindowOfPairs(1, length)) if is_vector else None


def _tail(site: Site) -> Requantised:
    if (tail := _four_bit_tail(site)) is not None:
        return tail
    if _is_paired(site):
        return enlarged_tail(dense_tail(site), site.constants[1])
    return fitted_dense_tail(site)


def _dot(site: Site, p: DotProblem) -> ScheduledDot:
    """Returns the strategy. Sums that accumulate image rows in memory are not enlarged."""
    if p.tail is not None and _four_bit_tail(site) is not None:
        return four_bit_dots(site, p)
    return paired_vector(site, p) if p.tail is not None and _is_paired(site) else smlad_dot(site, p)


def _row_bytes(site: Site) -> int:
    return row_bytes(site, makes_factors=_four_bit_tail(site) is not None or _is_paired(site))


STRATEGY = dense_strategy(
    "smlad",
    _dot,
    _row_bytes,
    GROUP,
    NEEDS,
    (INTEGERS, FINDS_WORDS, Condition("sums of 32 bits", sums_of_32_bits)),
    vector_tail_of=_tail,
)
