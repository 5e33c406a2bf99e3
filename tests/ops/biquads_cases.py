"""Recursive filters: one section and several, one row, several columns, a filter without poles."""

import numpy as np
from drawing import Draw
from op_case import OpCase, constant_of, float32, op_case

from aot.ops.biquads import Biquads


def case(name: str, sections: list[list[float]], *sizes: int) -> OpCase:
    operand = constant_of(np.asarray(sections, np.float32))
    return op_case(name, Biquads(), [float32(1, *sizes)], float32(), [operand])


LOW = [0.2, 0.4, 0.2, -0.3, 0.1]
HIGH = [0.8, -1.6, 0.8, -1.5, 0.6]
CASES = (
    case("biquads_one", [LOW], 9, 1, 3),
    case("biquads_two", [LOW, HIGH], 12, 1, 6),
    case("biquads_columns", [HIGH], 5, 4, 2),
    case("biquads_row", [HIGH], 1, 1, 1),
    case("biquads_no_poles", [[0.5, 0.25, 0.125, 0.0, 0.0]], 7, 1, 2),
)


def _biquads(draw: Draw) -> OpCase:
    section = [0.25, -0.5, 0.125, -0.75, 0.25]
    return case("any", [section] * draw.upto(3), *draw.shape(3, 5))


SHAPES = {"biquads": _biquads}
