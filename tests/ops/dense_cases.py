"""Dense layers: lengths that do and do not fit registers, both roundings, one scale and many."""

from op_case import (
    OpCase,
    Weights,
    float32,
    float32_weights,
    in_powers,
    int8,
    int8_weights,
    int32_bias,
    op_case,
    wide,
    wide_bias,
)

from aot.ir.types import DType, TensorType
from aot.ops.activation import Activation
from aot.ops.dense import Dense
from aot.ops.rounding import RequantRounding

OUT = int8(scale=0.03, zero_point=12)


def case(
    name: str, op: Dense, x: TensorType, outputs: int, per_channel: bool = False, bias: bool = True
) -> OpCase:
    w = int8_weights(outputs, x.shape[1], axis=0 if per_channel else None)
    b: Weights | None = int32_bias(outputs) if bias else None
    return op_case(f"dense_{name}", op, [x], OUT, [w, b])


def steps(name: str, op: Dense, x: TensorType, outputs: int, axis: int | None, bias: bool = True) -> OpCase:
    """Floats by weights of 8 bits."""
    b = float32_weights(outputs) if bias else None
    return op_case(
        f"dense_steps_{name}", op, [x], float32(), [int8_weights(outputs, x.shape[1], axis=axis), b]
    )


CASES: tuple[OpCase, ...] = (
    case("64_to_12", Dense(), int8(1, 64, zero_point=-128), 12),
    case("1_to_1", Dense(), int8(1, 1, zero_point=3), 1),
    case("17_to_5", Dense(), int8(1, 17, zero_point=89), 5),
    case("three_rows", Dense(), int8(3, 10, zero_point=-2), 4),
    case("single_rounding", Dense(rounding=RequantRounding.SINGLE), int8(1, 33, zero_point=-2), 9),
    case("per_channel", Dense(), int8(1, 20), 6, per_channel=True),
    case("no_bias", Dense(), int8(1, 20, zero_point=5), 6, bias=False),
    case("relu", Dense(activation=Activation.RELU), int8(1, 20, zero_point=5), 6),
    op_case(
        "dense_i16",
        Dense(rounding=RequantRounding.REDUCED),
        [wide(int8(2, 33))],
        wide(OUT),
        [int8_weights(9, 33), wide_bias(9)],
    ),
    op_case(
        "dense_i8_to_i16",
        Dense(result=DType.I16),
        [int8(1, 40, zero_point=-7)],
        wide(OUT),
        [int8_weights(8, 40), None],
    ),
    op_case(
        "dense_float32", Dense(), [float32(2, 9)], float32(), [float32_weights(4, 9), float32_weights(4)]
    ),
    steps("of_one_scale", Dense(), float32(1, 33), 9, None),
    steps("of_each_row", Dense(activation=Activation.RELU6), float32(3, 17), 6, 0),
    steps("without_bias", Dense(), float32(1, 8), 4, 0, bias=False),
    steps("one", Dense(), float32(1, 1), 1, None),
)
CASES += in_powers(CASES, "dense_64_to_12", "dense_17_to_5", "dense_per_channel", "dense_relu")
