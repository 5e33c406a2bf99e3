"""LSTMs: one step and several, one unit and several, of real numbers, 8 and 16 bits, clipped and not."""

from __future__ import annotations

import numpy as np
from op_case import OpCase, Weights, float32, float32_weights, int8, op_case, wide

from aot.ir.types import DType, Quant, TensorType
from aot.ops.lstm import GATES, Lstm
from aot.ops.rounding import RequantRounding

CELL = TensorType(DType.I16, (1, 3), Quant((2.0**-11,), (0,)))


def weights(rows: int, columns: int, seed: int) -> Weights:
    """A scale for each gate."""
    rng = np.random.default_rng(seed)
    scales = np.repeat(np.array([0.01, 0.02, 0.03, 0.015], np.float32), rows // GATES).tolist()
    tensor = TensorType(DType.I8, (rows, columns), Quant(tuple(scales), (0,) * rows, 0))
    return Weights(tensor, rng.integers(-127, 128, (rows, columns)).astype(np.int8))


def bias(rows: int, dtype: DType = DType.I32) -> Weights:
    values = np.random.default_rng(8).integers(-2000, 2000, rows).astype(dtype.numpy)
    return Weights(TensorType(dtype, (rows,)), values)


def integers(
    name: str, op: Lstm, x: TensorType, h: TensorType, depth: int, sum_type: DType = DType.I32
) -> OpCase:
    units = h.shape[1]
    cell = TensorType(CELL.dtype, (1, units), CELL.quant)
    rows = GATES * units
    constants = [weights(rows, depth, 1), weights(rows, units, 2), bias(rows, sum_type)]
    out = TensorType(DType.I16, (1, (op.steps + 1) * units), h.quant)
    return op_case(f"lstm_{name}", op, [x, h, cell], out, constants)


CASES = (
    integers(
        "three_steps", Lstm(3, 10.0), int8(1, 15, zero_point=-20), int8(1, 4, scale=0.008, zero_point=3), 5
    ),
    integers("one_of_all", Lstm(1), int8(1, 1), int8(1, 1, scale=0.008), 1),
    integers("clipped", Lstm(2, 0.5), int8(1, 6), int8(1, 2, scale=0.008), 3),
    integers(
        "i16",
        Lstm(2, 0.0, RequantRounding.REDUCED),
        wide(int8(1, 8)),
        wide(int8(1, 2, scale=0.008)),
        4,
        DType.I64,
    ),
    op_case(
        "lstm_float32",
        Lstm(3, 0.4),
        [float32(1, 12), float32(1, 2), float32(1, 2)],
        float32(),
        [float32_weights(8, 4), float32_weights(8, 2), float32_weights(8)],
    ),
)
