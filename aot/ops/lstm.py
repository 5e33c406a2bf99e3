"""A long short-term memory: gates from each step and from the step before, and a cell that is kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, Quant, TensorType
from aot.ops import constraints as limits
from aot.ops.accumulate import Multipliers, Reals
from aot.ops.op import Constraint, Cost, Op, Types, given
from aot.ops.requant import (
    Ints,
    conv_requant,
    multiply_by_quantized_multiplier,
    quant_of,
    quantize_multiplier,
)
from aot.ops.rounding import RequantRounding
from aot.ops.sigmoid_table import sigmoid_16, tanh_16

GATES = 4  # in the order input, forget, cell, output
_GATE_SCALE, _UNIT_SCALE = 2.0**-12, 2.0**-15  # of what goes into the curves, and of what comes out
_LOW, _HIGH = DType.I16.limits
Multiplier = tuple[int, int]


@dataclass(frozen=True, slots=True)
class LstmParameters:
    """How a step on integers rounds."""

    from_input: Multipliers  # per row of the weights, to gates
    from_hidden: Multipliers
    forget: Multiplier  # forget gate * cell
    update: Multiplier  # input gate * cell gate
    hidden: Multiplier  # output gate * tanh(cell)
    tanh_multiplier: int
    tanh_right: int
    clip: int  # largest cell


def _types(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x, h, c, w, r = (given(t) for t in inputs[:5])
    found = (x.dtype, h.dtype, c.dtype, w.dtype, r.dtype)
    integers = [(data, data, DType.I16, DType.I8, DType.I8) for data in (DType.I8, DType.I16)]
    if found in integers or set(found) == {DType.F32}:
        return None
    return ", ".join(d.value for d in found)


def _shapes(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    assert isinstance(op, Lstm)
    x, h, c, w, r, b = (given(t).shape for t in inputs)
    units, fact = h[-1], f"{x}, {h}, {c}, {w}, {r}, {b}"
    if op.steps < 1 or len(w) != 2 or len(x) != 2 or x[0] != 1:
        return fact
    wanted = ((1, op.steps * w[1]), (1, units), (1, units), (GATES * units, w[1]), (GATES * units, units))
    return None if (x, h, c, w, r) == wanted and b == (GATES * units,) else fact


def _scales(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    if given(inputs[0]).dtype is DType.F32:
        return None
    if any(given(t).quant is None for t in inputs[:5]):
        return "an operand has no quantisation"
    power = math.log2(quant_of(given(inputs[2])).scale)
    return None if power == int(power) and -16 <= power <= -8 else f"the cell's is 2**{power:.3f}"


@dataclass(frozen=True, slots=True)
class Lstm(Op):
    """Inputs: x [1, steps * I], h [1, U], c [1, U], w [4 U, I], r [4 U, U], b [4 U].

    The result is what h is after each step, and then the cell: [1, steps * U + U], i16 for integers.
    Integers are rounded as TFLite Micro does in every mode; LiteRT's own kernel is a step or two away.
    """

    name: ClassVar[str] = "lstm"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(6, 6),
        Constraint("all must be f32, or data i8 or i16, weights i8 and the cell i16", _types),
        Constraint("weights, states and biases must fit the units and the input", _shapes),
        Constraint("integers must be quantised, the cell in steps of a power of two", _scales),
    )
    steps: int = 1
    cell_clip: float = 0.0  # 0: none
    rounding: RequantRounding = RequantRounding.DOUBLE  # of the sums

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        x, units = given(inputs[0]), given(inputs[1]).shape[1]
        dtype = DType.F32 if x.dtype is DType.F32 else DType.I16
        return ((dtype.value, (1, (self.steps + 1) * units)),)

    def reference(
        self, arrays: Sequence[Array | None], inputs: Types, outputs: Sequence[TensorType]
    ) -> tuple[Array, ...]:
        x, h, c, w, r, b = (given(a) for a in arrays)
        steps = x.reshape(self.steps, -1)
        if x.dtype == np.float32:
            return (self._on_reals(*(a.astype(np.float64) for a in (steps, h, c, w, r, b))),)
        x_type, h_type = given(inputs[0]), given(inputs[1])
        parameters = self.parameters(inputs)
        results = []
        hidden, cell = h.astype(np.int64)[0], c.astype(np.int64)[0]
        for step in steps.astype(np.int64) - quant_of(x_type).zero_point:
            hidden, cell = _integer_step(
                step @ w.astype(np.int64).T + b,
                (hidden - quant_of(h_type).zero_point) @ r.astype(np.int64).T,
                cell,
                parameters,
                h_type,
                self.rounding,
            )
            results.append(hidden)
        return (np.concatenate([*results, cell]).astype(np.int16).reshape(1, -1),)

    def _on_reals(self, x: Reals, h: Reals, c: Reals, w: Reals, r: Reals, b: Reals) -> Array:
        results, hidden, cell = [], h[0], c[0]
        for step in x:
            i, f, g, o = np.split(w @ step + r @ hidden + b, GATES)
            cell = _sigmoid(f) * cell + _sigmoid(i) * np.tanh(g)
            cell = np.clip(cell, -self.cell_clip, self.cell_clip) if self.cell_clip > 0 else cell
            hidden = _sigmoid(o) * np.tanh(cell)
            results.append(hidden)
        return np.concatenate([*results, cell]).astype(np.float32).reshape(1, -1)

    def parameters(self, inputs: Types) -> LstmParameters:
        x, h, c, w, r, _ = (given(t) for t in inputs)
        rows, cell_scale = w.shape[0], quant_of(c).scale
        gate = TensorType(DType.I16, (rows,), Quant((_GATE_SCALE,), (0,)))
        left = 12 + int(math.log2(cell_scale))  # of the cell, to 12 bits behind the point
        return LstmParameters(
            from_input=conv_requant(x, w, gate, rows),
            from_hidden=conv_requant(h, r, gate, rows),
            forget=quantize_multiplier(_UNIT_SCALE),
            update=quantize_multiplier(_UNIT_SCALE * _UNIT_SCALE / cell_scale),
            hidden=quantize_multiplier(_UNIT_SCALE * _UNIT_SCALE / quant_of(h).scale),
            tanh_multiplier=3 << max(left, 0),
            tanh_right=max(-left, 0),
            clip=int(min(max(self.cell_clip / cell_scale, 0), _HIGH)),
        )

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        macs = sum(given(t).elements for t in inputs[3:5])
        return Cost(macs=macs * self.steps, elementwise=outputs[0].elements)


def _integer_step(
    from_input: Ints,
    from_hidden: Ints,
    cell: Ints,
    p: LstmParameters,
    h_type: TensorType,
    rounding: RequantRounding,
) -> tuple[Ints, Ints]:
    """(hidden, cell) after a step."""
    by_input, by_hidden = (
        _scaled(sums, multipliers, rounding)
        for sums, multipliers in ((from_input, p.from_input), (from_hidden, p.from_hidden))
    )
    gates = _saturated(by_input + by_hidden)
    i, f, g, o = np.split(gates, GATES)
    kept = _saturated(multiply_by_quantized_multiplier(sigmoid_16(f) * cell, *p.forget))
    added = _saturated(multiply_by_quantized_multiplier(sigmoid_16(i) * tanh_16(g), *p.update))
    cell = _saturated(kept + added)
    cell = np.clip(cell, -p.clip, p.clip) if p.clip else cell
    curved = tanh_16(cell, p.tanh_multiplier, p.tanh_right)
    hidden = multiply_by_quantized_multiplier(sigmoid_16(o) * curved, *p.hidden)
    return np.clip(hidden + quant_of(h_type).zero_point, *h_type.dtype.limits), cell


def _scaled(sums: Ints, multipliers: Multipliers, rounding: RequantRounding) -> Ints:
    mult, shift = (m.astype(np.int64) for m in multipliers)
    return _saturated(multiply_by_quantized_multiplier(sums, mult, shift, rounding))


def _saturated(values: Ints) -> Ints:
    return np.clip(values, _LOW, _HIGH)


def _sigmoid(x: Reals) -> Reals:
    return 1 / (1 + np.exp(-x))
