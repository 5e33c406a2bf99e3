"""Concatenations: along channels, columns, rows and vectors; of inputs and constants; of any element type."""

import numpy as np
from op_case import OpCase, Weights, float32, int8, op_case

from aot.ir.types import DType, TensorType
from aot.ops.concat import Concat


def case(name: str, axis: int, *inputs: TensorType, constants: tuple[Weights, ...] = ()) -> OpCase:
    return op_case(f"concat_{name}", Concat(axis), inputs, inputs[0], constants)


def constant(*shape: int) -> Weights:
    values = np.random.default_rng(6).integers(-128, 128, shape).astype(np.int8)
    return Weights(int8(*shape), values)


CASES = (
    case("channels", 3, int8(1, 4, 5, 3), int8(1, 4, 5, 1), int8(1, 4, 5, 4)),
    case("columns", 2, int8(1, 4, 5, 3), int8(1, 4, 1, 3)),
    case("vectors", 1, int8(2, 5), int8(2, 3)),
    case("one", 1, int8(2, 5)),
    case("rows", 1, int8(1, 4, 5, 3), int8(1, 1, 5, 3), int8(1, 2, 5, 3)),
    case("rows_of_lists", 1, float32(1, 3, 2), float32(1, 4, 2)),
    case("rows_of_batches", 0, int8(2, 2, 3, 3), int8(1, 2, 3, 3)),
    case("rows_of_constants", 1, int8(1, 4, 5, 3), constants=(constant(1, 2, 5, 3),)),
    case("constant", 3, int8(1, 4, 5, 3), constants=(constant(1, 4, 5, 2),)),
    case("float32", 3, float32(1, 2, 3, 2), float32(1, 2, 3, 1)),
    case("int32", 1, TensorType(DType.I32, (1, 3)), TensorType(DType.I32, (1, 2))),
)
