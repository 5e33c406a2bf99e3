"""The fixed-point pieces of softmax are near what they stand for; the table ends where TFLite's does."""

import numpy as np
import pytest
from op_case import int8

from aot.ops.fixed_point import exp_of_negative, one_over_one_plus, reciprocal
from aot.ops.softmax import exp_table, softmax_parameters


def test_exp_is_within_a_millionth():
    raw = -np.arange(0, 2**31, 2**31 // 10_007, dtype=np.int64)
    got = exp_of_negative(raw, integer_bits=5) / 2**31
    assert np.abs(got - np.exp(raw / 2**26)).max() < 1e-6


def test_exp_of_zero_is_the_largest_fraction():
    assert exp_of_negative(np.array([0], np.int64)).tolist() == [2**31 - 1]


def test_one_over_one_plus_is_within_a_hundred_millionth():
    raw = np.arange(0, 2**31, 2**31 // 10_007, dtype=np.int64)
    got = one_over_one_plus(raw) / 2**31
    assert np.abs(got - 1 / (1 + raw / 2**31)).max() < 1e-8


@pytest.mark.parametrize("real", [1.0, 1.5, 2.0, 3.25, 1000.0])
def test_a_reciprocal_is_a_fraction_and_a_shift(real):
    scale, bits = reciprocal(np.array([round(real * 2**19)], np.int64), integer_bits=12)
    assert scale[0] / 2**31 / 2.0 ** bits[0] == pytest.approx(1 / real, rel=1e-8)


def test_the_table_holds_the_exponentials_of_all_differences():
    table = exp_table(int8(scale=0.0625), beta=1.0) / 2**31
    assert np.abs(table - np.exp(-0.0625 * np.arange(256))).max() < 1e-6


def test_the_table_is_zero_beyond_the_smallest_difference():
    x = int8(scale=1.0)
    diff_min = softmax_parameters(x, beta=1.0).diff_min
    table = exp_table(x, beta=1.0)
    assert diff_min == -15  # 31 * 2**26 over the left shift that 1.0 needs, 2**27
    assert table[15] != 0
    assert not table[16:].any()


def test_beta_scales_the_differences():
    assert np.array_equal(exp_table(int8(scale=0.5), beta=0.25), exp_table(int8(scale=0.125), beta=1.0))
