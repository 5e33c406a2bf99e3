"""Contractions: matrices, batches, a constant operand, windows that overlap, integers, one element."""

from __future__ import annotations

from op_case import float32, float32_weights, op_case

from aot.ir.types import DType, TensorType
from aot.ops.contract import Contract


def matrices(batch: int, rows: int, depth: int, columns: int) -> Contract:
    return Contract(
        (batch, rows, columns),
        (batch, rows, columns, depth),
        1,
        (rows * depth, depth, 0, 1),
        (depth * columns, 0, 1, columns),
    )


def plain(dtype: DType, *shape: int) -> TensorType:
    return TensorType(dtype, shape)


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
