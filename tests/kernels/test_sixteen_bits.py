"""A layer whose scaled sums fit 16 bits, whatever its input, is known as such: Helium needs less for it."""

import numpy as np
import pytest

from aot.ir.types import DType, Quant, TensorType
from aot.ops.activation import Activation
from aot.ops.rounding import RequantRounding
from codegen.isa.plain.scalar_math import PORTABLE
from codegen.kernels.requantised import requantised

BYTES = TensorType(DType.I8, (1, 4), Quant((0.1,), (-3,)))


def fits(weights: list[list[int]], bias: list[int], right: list[int]) -> bool:
    mult, shift = np.full(len(right), 1 << 30), -np.array(right)
    tail = requantised(
        np.array(weights, np.int8),
        np.array(bias, np.int32),
        (mult, shift),
        BYTES,
        BYTES,
        Activation.NONE,
        RequantRounding.DOUBLE,
        PORTABLE,
    )
    return tail.requant.scaled_fits_16_bits


@pytest.mark.parametrize(
    ("weights", "bias", "right", "is_so"),
    [
        ([[127, 127, 127, 126]], [-1521 + 127], [0], True),  # (507 * 128 + 127) / 2 is more than 256 below
        ([[127, 127, 127, 126]], [-1521 + 128], [0], False),  # the zero point, -3, is in the bias: 3 * 507
        ([[127, 127, 127, 126]], [-1521 - 128], [0], False),
        ([[-127, -127, -127, -127]], [1000], [1], True),
        ([[127, 127, 127, 127], [1, 0, 0, 0]], [1000, 0], [0, 9], False),  # one channel is enough
        ([[1, 0, 0, 0]], [1 << 20], [2], False),  # so is the bias
    ],
)
def test_the_largest_scaled_sum_of_any_channel_counts(weights, bias, right, is_so):
    assert fits(weights, bias, right) == is_so
