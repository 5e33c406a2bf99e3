"""A layer whose scaled sums fit 16 bits, whatever its input, is known as such: Helium needs less for it."""

import numpy as np
import pytest

from aot.ir.types import DType, Quant, TensorType
from codegen.kernels.requantised import folded_bias, scaled_fits_16_bits

ZERO_POINT = -3
BYTES = TensorType(DType.I8, (1, 4), Quant((0.1,), (ZERO_POINT,)))


def fits(weights, bias, right):
    weights, mult = np.array(weights, np.int8), np.full(len(right), 1 << 30)
    start = folded_bias(weights, np.array(bias, np.int32), ZERO_POINT)
    return scaled_fits_16_bits(weights, start, BYTES, mult, np.array(right))


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
