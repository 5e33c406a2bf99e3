"""Gains: noise over the whole range, small noise that has gains of its own, gains below 0."""

import numpy as np
from drawing import Draw
from op_case import OpCase, constant_of, op_case, plain

from aot.ir.types import DType
from aot.ops.gain_control import GAINS, GainControl

_ANY = constant_of(np.random.default_rng(5).integers(-(2**15), 2**15, GAINS).astype(np.int16))
_FALLING = constant_of((32767 * 0.96 ** np.arange(GAINS)).astype(np.int16))
_SMALL = constant_of(np.arange(40, dtype=np.uint32))
_U32 = plain(DType.U32, 40)
CASES = (
    op_case("gain_control_any", GainControl(6), [_U32, _U32], plain(DType.U32), [_ANY]),
    op_case("gain_control_falling", GainControl(20), [_U32, _U32], plain(DType.U32), [_FALLING]),
    op_case(
        "gain_control_rows", GainControl(6), [plain(DType.U32, 1, 4, 1, 7)] * 2, plain(DType.U32), [_FALLING]
    ),
    op_case("gain_control_small", GainControl(6), [_U32], plain(DType.U32), [_SMALL, _FALLING]),
)


def _gain_control(draw: Draw) -> OpCase:
    x = plain(DType.U32, draw.upto(40))
    return op_case("gain_control", GainControl(draw.upto(20)), [x, x], plain(DType.U32), [_ANY])


SHAPES = {"gain_control": _gain_control}
