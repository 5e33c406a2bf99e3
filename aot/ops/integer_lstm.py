"""An integer LSTM step, rounded like TFLite Micro in every mode; LiteRT differs by one or two steps.

Gates have 16 bits, 12 of them fraction bits; hidden values and cells have separate scales.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from aot.ir.types import DType, Quant, TensorType
from aot.ops.curves_16 import sigmoid_16, tanh_16
from aot.ops.requant import (
    Ints,
    Multipliers,
    conv_requant,
    multiply_by_quantized_multiplier,
    quant_of,
    quantize_multiplier,
)
from aot.ops.rounding import RequantRounding

GATE_QUANT = Quant((2.0**-12,), (0,))  # of the arguments of sigmoid and tanh
_UNIT_SCALE = 2.0**-15  # of their results
_LOW, _HIGH = DType.I16.limits
_CELL_POWERS = range(-16, -7)
Multiplier = tuple[int, int]


@dataclass(frozen=True, slots=True)
class LstmParameters:
    """The multipliers of one LSTM step."""

    from_hidden: Multipliers  # by row of the weights, to gates
    forget: Multiplier  # of forget gate * cell
    update: Multiplier  # of input gate * candidate
    hidden: Multiplier  # of output gate * tanh(cell)
    tanh_multiplier: int
    tanh_right: int
    clip: int  # largest cell; 0: unlimited


def lstm_parameters(h: TensorType, c: TensorType, r: TensorType, cell_clip: float) -> LstmParameters:
    """Returns the parameters for hidden values, cells and weights of these types."""
    rows, cell_scale = r.shape[0], quant_of(c).scale
    left = 12 + int(math.log2(cell_scale))  # to a cell with 12 fraction bits
    return LstmParameters(
        from_hidden=conv_requant(h, r, TensorType(DType.I16, (rows,), GATE_QUANT), rows),
        forget=quantize_multiplier(_UNIT_SCALE),
        update=quantize_multiplier(_UNIT_SCALE * _UNIT_SCALE / cell_scale),
        hidden=quantize_multiplier(_UNIT_SCALE * _UNIT_SCALE / quant_of(h).scale),
        tanh_multiplier=3 << max(left, 0),
        tanh_right=max(-left, 0),
        clip=int(min(max(cell_clip / cell_scale, 0), _HIGH)),
    )


def scales_misfit(x: TensorType, h: TensorType, c: TensorType, r: TensorType) -> str | None:
    """Describes a scale that an integer step does not support; None if all are supported."""
    if any(t.quant is None for t in (x, h, c, r)):
        return "an operand has no quantization"
    if x.quant != GATE_QUANT:
        return f"the gates' is {quant_of(x).scale:.6g}"
    power = math.log2(quant_of(c).scale)
    return None if power in _CELL_POWERS else f"the cell's is 2**{power:.3f}"


def integer_step(
    from_input: Ints,
    from_hidden: Ints,
    cell: Ints,
    p: LstmParameters,
    h: TensorType,
    rounding: RequantRounding,
) -> tuple[Ints, Ints]:
    """Returns (hidden, cell) after a step. Gates are in the order input, output, forget, candidate."""
    mult, shift = (m.astype(np.int64) for m in p.from_hidden)
    scaled = _saturated(multiply_by_quantized_multiplier(from_hidden, mult, shift, rounding))
    i, o, f, g = np.split(_saturated(from_input + scaled), 4, axis=-1)
    kept = _saturated(multiply_by_quantized_multiplier(sigmoid_16(f) * cell, *p.forget))
    added = _saturated(multiply_by_quantized_multiplier(sigmoid_16(i) * tanh_16(g), *p.update))
    cell = _saturated(kept + added)
    cell = np.clip(cell, -p.clip, p.clip) if p.clip else cell
    curved = tanh_16(cell, p.tanh_multiplier, p.tanh_right)
    hidden = multiply_by_quantized_multiplier(sigmoid_16(o) * curved, *p.hidden)
    return np.clip(hidden + quant_of(h).zero_point, *h.dtype.limits), cell


def _saturated(values: Ints) -> Ints:
    return np.clip(values, _LOW, _HIGH)
