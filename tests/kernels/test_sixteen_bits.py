"""What fits 16 bits, whatever the input: scaled sums, for which Helium needs less, and constant factors."""

import numpy as np
import pytest
from model_checks import OPTIONS, PLAIN, compiled
from op_case import Weights, int8, op_case

from aot.ir.types import DType, Quant, TensorType
from aot.ops.binary import Mul
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


@pytest.mark.parametrize("zero_point", [-128, 0, 127])
def test_a_constant_factor_without_its_zero_point_is_stored_in_16_bits(zero_point):
    kind = int8(3, scale=0.02, zero_point=zero_point)
    factor = Weights(kind, np.array([-128, 0, 127], np.int8))
    graph = op_case("case", Mul(), [int8(1, 4, 5, 3)], int8(scale=0.05), [factor]).graph
    (stored,) = compiled(graph, PLAIN, OPTIONS["speed"], "m").constants.arrays.values()
    assert stored.dtype == np.int16
    assert stored.tolist() == [-128 - zero_point, -zero_point, 127 - zero_point]
