"""Tables: images and vectors, signed and unsigned elements."""

from dataclasses import replace

import numpy as np
from drawing import Draw
from op_case import OpCase, Weights, int8, op_case

from aot.ir.types import DType, TensorType
from aot.ops.lookup import Lookup


def case(name: str, x: TensorType) -> OpCase:
    entries = np.random.default_rng(5).permutation(np.arange(-128, 128)).astype(np.int8)
    return op_case(f"lookup_{name}", Lookup(), [x], int8(), [Weights(int8(256), entries)])


CASES = (
    case("image", int8(1, 4, 5, 3)),
    case("vector", int8(2, 7)),
    case("one", int8(1, 1)),
    case("unsigned", replace(int8(1, 3, 3, 2, zero_point=12), dtype=DType.U8)),
)


def _lookup(draw: Draw) -> OpCase:
    return case("any", int8(*draw.shape(draw.upto(4)), zero_point=draw.upto(127, -128)))


SHAPES = {"lookup": _lookup}
