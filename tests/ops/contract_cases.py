"""Contractions: matrices, batches, a constant operand, windows that overlap, integers, one element."""

from drawing import Draw
from op_case import OpCase, float32, float32_weights, op_case, plain

from aot.ir.types import DType
from aot.ops.contract import Contract


def matrices(batch: int, rows: int, depth: int, columns: int) -> Contract:
    return Contract(
        (batch, rows, columns),
        (batch, rows, columns, depth),
        1,
        (rows * depth, depth, 0, 1),
        (depth * columns, 0, 1, columns),
    )


CASES = (
    op_case("contract_matrices", matrices(1, 3, 5, 4), [float32(3, 5), float32(5, 4)], float32()),
    op_case("contract_batch", matrices(3, 2, 4, 5), [float32(3, 2, 4), float32(3, 4, 5)], float32()),
    op_case("contract_constant", matrices(1, 3, 5, 4), [float32(3, 5)], float32(), [float32_weights(5, 4)]),
    op_case(
        "contract_windows", Contract((1, 5), (5, 3), 1, (1, 1), (0, 1)), [float32(7), float32(3)], float32()
    ),
    op_case("contract_one", Contract((), (), 0, (), ()), [float32(1), float32(1)], float32()),
    op_case(
        "contract_int8",
        matrices(1, 3, 7, 2),
        [plain(DType.I8, 3, 7), plain(DType.I8, 7, 2)],
        plain(DType.I32),
    ),
    op_case(
        "contract_uint8",
        matrices(1, 2, 9, 2),
        [plain(DType.U8, 2, 9), plain(DType.U8, 9, 2)],
        plain(DType.I32),
    ),
)


def _contract(draw: Draw) -> OpCase:
    batch, rows, depth, columns = draw.shape(4, 6)
    pair = [(batch, rows, depth), (batch, depth, columns)]
    dtype, result = draw.one_of(
        (DType.I8, plain(DType.I32)), (DType.U8, plain(DType.I32)), (DType.F32, float32())
    )
    op = matrices(batch, rows, depth, columns)
    return op_case("contract", op, [plain(dtype, *shape) for shape in pair], result)


SHAPES = {"contract": _contract}
