"""Element-wise maximum, minimum, remainder, power, logic and shift of two tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.elementwise import SHAPES_FIT, Elementwise, one_quantisation, one_type
from aot.ops.op import Arrays, Constraint, Types, required


class Combination(Enum):
    """An element-wise function of two operands; the value is its name in graph text."""

    MAXIMUM = "maximum"
    MINIMUM = "minimum"
    FLOOR_DIV = "floor_div"
    FLOOR_MOD = "floor_mod"
    REMAINDER = "remainder"
    POWER = "power"
    ATAN2 = "atan2"
    AND = "and"
    OR = "or"
    XOR = "xor"
    SHIFT_LEFT = "shift_left"
    SHIFT_RIGHT = "shift_right"


_LOGIC = (Combination.AND, Combination.OR, Combination.XOR)
_SHIFTS = (Combination.SHIFT_LEFT, Combination.SHIFT_RIGHT)
_REAL = (Combination.POWER, Combination.ATAN2)
_STORED = (Combination.MAXIMUM, Combination.MINIMUM)  # work on stored integers, quantized or not


def _divided(a: Any, b: Any) -> Any:
    if a.dtype.kind == "f":
        # single precision would round up to the next integer
        return np.floor(a.astype(np.float64) / b.astype(np.float64))
    return np.where(b == 0, 0, a // np.where(b == 0, 1, b))


def _modulo(a: Any, b: Any) -> Any:
    return np.mod(a, b) if a.dtype.kind == "f" else np.where(b == 0, 0, np.mod(a, np.where(b == 0, 1, b)))


def _remainder(a: Any, b: Any) -> Any:
    return np.fmod(a, b) if a.dtype.kind == "f" else np.where(b == 0, 0, np.fmod(a, np.where(b == 0, 1, b)))


def _shifted_left(a: Any, b: Any) -> Any:
    return np.left_shift(a, np.clip(b, 0, a.dtype.itemsize * 8 - 1))


def _shifted_right(a: Any, b: Any) -> Any:
    return np.right_shift(a, np.clip(b, 0, a.dtype.itemsize * 8 - 1))


MEANINGS: Mapping[Combination, Callable[[Any, Any], Any]] = {
    Combination.MAXIMUM: np.maximum,
    Combination.MINIMUM: np.minimum,
    Combination.FLOOR_DIV: _divided,
    Combination.FLOOR_MOD: _modulo,
    Combination.REMAINDER: _remainder,
    Combination.POWER: np.power,
    Combination.ATAN2: np.arctan2,
    Combination.AND: np.bitwise_and,
    Combination.OR: np.bitwise_or,
    Combination.XOR: np.bitwise_xor,
    Combination.SHIFT_LEFT: _shifted_left,
    Combination.SHIFT_RIGHT: _shifted_right,
}


def _elements(op: Combine, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x = required(inputs[0])
    fact = f"{op.by.value} of {x.dtype.value}"
    if op.by in _REAL:
        return None if x.dtype is DType.F32 else fact
    if op.by in _LOGIC:
        return None if x.dtype is not DType.F32 else fact
    if op.by in _SHIFTS:
        return None if x.dtype.is_integer else fact
    return fact if x.dtype is DType.BOOL else None


def _plain(op: Combine, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    quantised = [required(t) for t in inputs if required(t).quant is not None]
    return (
        f"{op.by.value} of quantized {quantised[0].dtype.value}"
        if quantised and op.by not in _STORED
        else None
    )


@dataclass(frozen=True, slots=True)
class Combine(Elementwise):
    """Inputs: x1, x2 of one type. Integer division by 0 gives 0. Shift counts are less than the bits."""

    name: ClassVar[str] = "combine"
    elementwise: ClassVar[tuple[int, ...]] = (0, 1)
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(2, 2),
        one_type(),
        Constraint(
            "powers and angles need f32, logic needs integers or bool, shifts need integers, "
            "all others need numbers",
            _elements,
        ),
        Constraint("quantized integers support only maximum and minimum", _plain),
        one_quantisation(),
        SHAPES_FIT,
    )
    by: Combination = Combination.MAXIMUM

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            results = MEANINGS[self.by](required(arrays[0]), required(arrays[1]))
        return (np.asarray(results).astype(outputs[0].dtype.numpy),)
