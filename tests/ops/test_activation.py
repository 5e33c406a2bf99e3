"""Fused activations as integer limits: zero point plus the rounded number of steps."""

from __future__ import annotations

import pytest
from op_case import int8

from aot.ops.activation import Activation, integer_clamp


@pytest.mark.parametrize(
    ("activation", "scale", "zero_point", "limits"),
    [
        (Activation.NONE, 0.1, 5, (-128, 127)),
        (Activation.RELU, 0.1, 5, (5, 127)),
        (Activation.RELU, 0.1, -128, (-128, 127)),
        (Activation.RELU6, 0.1, -128, (-128, -68)),
        (Activation.RELU6, 0.01, -128, (-128, 127)),  # 6 is beyond what can be stored
        (Activation.RELU_N1_TO_1, 0.1, 5, (-5, 15)),
        (Activation.RELU_N1_TO_1, 0.4, 0, (-3, 3)),  # 2.5 steps: half away from zero
    ],
)
def test_limits_of_an_activation(
    activation: Activation, scale: float, zero_point: int, limits: tuple[int, int]
) -> None:
    assert integer_clamp(activation, int8(scale=scale, zero_point=zero_point)) == limits
