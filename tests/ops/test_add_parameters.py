"""The three multipliers of an int8 addition."""

from __future__ import annotations

from op_case import int8

from aot.ops.binary_rescale import AddParameters, add_parameters
from aot.ops.requant import quantize_multiplier


def test_inputs_are_brought_to_twice_the_larger_scale_and_shifted_by_20() -> None:
    assert add_parameters(int8(scale=0.5), int8(scale=0.125), int8(scale=0.25)) == AddParameters(
        left_shift=20,
        first=quantize_multiplier(0.5),
        second=quantize_multiplier(0.125),
        out=quantize_multiplier(1.0 / (2**20 * 0.25)),
    )
