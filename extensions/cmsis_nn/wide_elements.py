"""Library arguments of 16-bit pools, add, mul and softmax."""

from __future__ import annotations

from aot.ir.types import DType
from aot.ops.curves_16 import difference_multiplier, exp_points, reciprocal_points
from aot.ops.requant import quant_of
from aot.ops.softmax import Softmax
from codegen.kernels.kernel import Site
from codegen.kernels.strategy import Condition
from extensions.cmsis_nn.elements import (
    TWICE,
    TWO_TENSORS,
    add_numbers,
    mul_numbers,
    softmax_arguments,
)
from extensions.cmsis_nn.pools import HALVES, pool_arguments
from extensions.cmsis_nn.strategies import WIDE, Arguments, LibraryCall

# The library does not saturate as the reference does in two cases. A single element has the share 32,768. And
# the sum of exponentials, normalized to between 1 and 2, may round to 2; the smallest such sum is 2^18 - 1,
# and eight exponentials of at most 32,767 stay below it.
_ELEMENTS = range(2, 9)


def _are_centred(site: Site) -> bool:
    tensors = (site.input(0), site.input(1), site.outputs[0])
    return all(quant_of(tensor).zero_point == 0 for tensor in tensors)


def _widens(site: Site) -> bool:
    return site.input(0).dtype is DType.I8 and site.outputs[0].dtype is DType.I16


def _is_short(site: Site) -> bool:
    return site.input(0).shape[-1] in _ELEMENTS


def _softmax(site: Site) -> Arguments:
    op, x = site.op_as(Softmax), site.input(0)
    mult, shift = difference_multiplier(x, op.beta)
    length = x.shape[-1]
    return Arguments(
        (("rows", x.elements // length), ("length", length), ("mult", mult), ("shift", shift)),
        {"exponentials": exp_points().astype("int16"), "reciprocals": reciprocal_points().astype("int16")},
    )


_PAIRS = (WIDE, *TWO_TENSORS, Condition("zero points that are 0", _are_centred))
AVERAGE_POOL = LibraryCall(
    "cmsis_nn_average_pool_wide", "arm_avgpool_s16", 1000, 416, pool_arguments, (WIDE, HALVES)
)
MAX_POOL = LibraryCall("cmsis_nn_max_pool_wide", "arm_max_pool_s16", 900, 360, pool_arguments, (WIDE,))
ADD = LibraryCall(
    "cmsis_nn_add_wide", "arm_elementwise_add_s16", 1100, 208, add_numbers, _PAIRS, names=("a", "b")
)
MUL = LibraryCall(
    "cmsis_nn_mul_wide", "arm_elementwise_mul_s16", 600, 112, mul_numbers, (*_PAIRS, TWICE), names=("a", "b")
)
SOFTMAX = LibraryCall(
    "cmsis_nn_softmax_wide",
    "arm_softmax_s16",
    1100,
    160,
    _softmax,
    (WIDE, Condition("rows of 2 to 8 elements, for which the library need not saturate", _is_short)),
)
SOFTMAX_TO_WIDE = LibraryCall(
    "cmsis_nn_softmax_to_wide",
    "arm_softmax_s8_s16",
    4300,
    272,
    softmax_arguments,
    (Condition("inputs of bytes and results of 16 bits", _widens),),
)
