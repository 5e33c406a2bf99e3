"""Dense layers by SMLAD."""

from __future__ import annotations

from codegen.isa.dsp.needs import FINDS_WORDS, NEEDS, row_bytes
from codegen.isa.dsp.strategies.dot_product import GROUP, smlad_dot
from codegen.isa.dsp.strategies.four_bits import four_bit_dots, four_bit_tail
from codegen.isa.dsp.strategies.paired_weights import can_pair, paired_vector
from codegen.kernels.dense import dense_strategy, dense_tail, fitted_dense_tail
from codegen.kernels.dot_product import DotMethod
from codegen.kernels.four_bit_weights import WindowOfPairs
from codegen.kernels.kernel import Site
from codegen.kernels.paired_weights import enlarged_tail
from codegen.kernels.strategy import INTEGERS, sums_of_32_bits

_LEAST_CHANNELS = 4  # that share the factors of the input
_LEAST_MACS = 1024  # smaller layers gain too little for the code


def _method(site: Site) -> DotMethod:
    """Returns the first possible method: a vector by weights of four bits, by pairs, then by single ones."""
    w, tail = site.constants[1], dense_tail(site)
    if w.shape[1] == site.input(0).shape[-1]:
        four_bits = four_bit_tail(site, tail, WindowOfPairs(1, w.shape[1]))
        if four_bits is not None:
            return DotMethod(four_bit_dots, four_bits, 1, GROUP)
        is_large = w.shape[0] >= _LEAST_CHANNELS and w.size >= _LEAST_MACS
        if is_large and can_pair(site, tail, w):
            return DotMethod(paired_vector, enlarged_tail(tail, w), 1, GROUP)
    return _by_single_weights(site)


def _by_single_weights(site: Site) -> DotMethod:
    return DotMethod(smlad_dot, fitted_dense_tail(site), row_bytes(site), GROUP)


STRATEGY = dense_strategy(
    "smlad",
    _method,
    NEEDS,
    (INTEGERS, FINDS_WORDS, sums_of_32_bits(dense_tail)),
    method_by_rows=_by_single_weights,  # sums in memory are not enlarged
)
