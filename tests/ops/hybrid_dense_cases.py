"""Dense layers that take floats in 8 bits: both kinds of range, one scale and many, several vectors."""

from drawing import Draw
from op_case import OpCase, float32, float32_weights, int8_weights, op_case

from aot.ops.activation import Activation
from aot.ops.hybrid_dense import HybridDense


def case(
    name: str,
    op: HybridDense,
    rows: int,
    depth: int,
    outputs: int,
    axis: int | None = None,
    bias: bool = True,
) -> OpCase:
    w = int8_weights(outputs, depth, axis=axis)
    b = float32_weights(outputs) if bias else None
    return op_case(f"hybrid_dense_{name}", op, [float32(rows, depth)], float32(), [w, b])


ASYMMETRIC = HybridDense(is_asymmetric=True)
CASES = (
    case("one_scale", HybridDense(), 1, 33, 9),
    case("each_row", HybridDense(Activation.RELU6), 3, 17, 6, axis=0),
    case("no_bias", HybridDense(), 1, 8, 4, axis=0, bias=False),
    case("blocks", HybridDense(), 1, 96, 8, axis=0, bias=False),
    case("blocks_with_bias", HybridDense(), 2, 32, 12),
    case("one", HybridDense(), 1, 1, 1),
    case("asymmetric", ASYMMETRIC, 1, 64, 12),
    case("asymmetric_rows", HybridDense(Activation.RELU, True), 4, 19, 5, axis=0),
    case("asymmetric_one", ASYMMETRIC, 1, 1, 3, bias=False),
)


def _hybrid_dense(draw: Draw) -> OpCase:
    op = HybridDense(draw.one_of(Activation.NONE, Activation.RELU), draw.chance())
    return case("any", op, draw.upto(3), draw.upto(30), draw.upto(9), draw.one_of(None, 0), draw.chance())


SHAPES = {"hybrid_dense": _hybrid_dense}
