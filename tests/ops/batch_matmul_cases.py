"""Products of matrices: pairs and one for all, transposed, constant, of every element type."""

from dataclasses import replace

from op_case import OpCase, Weights, float32, float32_weights, in_powers, int8, int8_weights, op_case, wide

from aot.ir.types import Quant, TensorType
from aot.ops.batch_matmul import BatchMatmul
from aot.ops.rounding import RequantRounding

OUT = int8(scale=0.6, zero_point=-7)
CONSTANT = int8_weights(1, 3, 6, 4)


def case(name: str, op: BatchMatmul, x: TensorType, y: TensorType, out: TensorType = OUT) -> OpCase:
    return op_case(f"batch_matmul_{name}", op, [x, y], out)


def with_zero_point(weights: Weights, zero_point: int) -> Weights:
    assert weights.type.quant is not None
    quant = Quant(weights.type.quant.scales, (zero_point,))
    return Weights(replace(weights.type, quant=quant), weights.array)


CASES: tuple[OpCase, ...] = (
    case("pairs", BatchMatmul(), int8(1, 3, 4, 5, zero_point=4), int8(1, 3, 5, 2, zero_point=-9)),
    case("one_for_all", BatchMatmul(), int8(1, 4, 2, 7), int8(1, 1, 7, 3, zero_point=127)),
    case("one_for_two", BatchMatmul(), int8(1, 6, 2, 5), int8(1, 3, 5, 4, zero_point=11)),
    case("x_transposed", BatchMatmul(x_transposed=True), int8(1, 2, 6, 3, zero_point=-128), int8(1, 2, 6, 2)),
    case("y_transposed", BatchMatmul(y_transposed=True), int8(1, 2, 3, 6), int8(1, 2, 2, 6, zero_point=5)),
    case("one_by_one", BatchMatmul(), int8(1, 1, 1, 1, scale=1.0), int8(1, 1, 1, 1, scale=0.9), OUT),
    case("saturating", BatchMatmul(), int8(1, 1, 3, 9), int8(1, 1, 9, 3), int8(scale=0.01)),
    op_case(
        "batch_matmul_constant",
        BatchMatmul(),
        [int8(1, 3, 2, 6)],
        int8(scale=0.03),
        [with_zero_point(CONSTANT, 3)],
    ),
    case(
        "i16",
        BatchMatmul(rounding=RequantRounding.REDUCED),
        wide(int8(1, 2, 3, 8)),
        wide(int8(1, 2, 8, 3)),
        wide(OUT),
    ),
    case("float32", BatchMatmul(), float32(1, 2, 3, 4), float32(1, 2, 4, 5), float32()),
    op_case(
        "batch_matmul_float32_constant",
        BatchMatmul(y_transposed=True),
        [float32(1, 2, 3, 4)],
        float32(),
        [float32_weights(1, 1, 5, 4)],
    ),
)
CASES += in_powers(CASES, "batch_matmul_pairs", "batch_matmul_constant")
