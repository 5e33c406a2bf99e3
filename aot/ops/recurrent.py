"""Recurrent layers: each step computes hidden values from an input row and the previous step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.activation import FloatArray
from aot.ops.integer_lstm import integer_step, lstm_parameters, scales_misfit
from aot.ops.op import Arrays, Constraint, Cost, Op, Types, required
from aot.ops.requant import quant_of
from aot.ops.rounding import RequantRounding


class Cell(Enum):
    """The kind of cell; the value is its name in graph text. Comments list the gates in order."""

    RNN = "rnn"
    GRU = "gru"  # update, reset, candidate
    GRU_RESET_AFTER = "gru_reset_after"  # the same; the reset gate applies after the product
    LSTM = "lstm"  # input, output, forget, cell

    @property
    def gates(self) -> int:
        return {Cell.RNN: 1, Cell.LSTM: 4}.get(self, 3)

    @property
    def activations(self) -> tuple[str, ...]:
        """Returns the default activations: of gates, of the candidate, and of an LSTM's cell output."""
        return {Cell.RNN: ("tanh",), Cell.LSTM: ("sigmoid", "tanh", "tanh")}.get(self, ("sigmoid", "tanh"))


# By name: f(x, alpha, beta).
ACTIVATIONS: Mapping[str, Callable[[Any, float, float], Any]] = {
    "affine": lambda x, a, b: a * x + b,
    "elu": lambda x, a, _: np.where(x < 0, a * np.expm1(np.minimum(x, 0)), x),
    "hard_sigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1),
    "leaky_relu": lambda x, a, _: np.where(x < 0, a * x, x),
    "relu": lambda x, _, __: np.maximum(x, 0),
    "scaled_tanh": lambda x, a, b: a * np.tanh(b * x),
    "sigmoid": lambda x, _, __: 1 / (1 + np.exp(-np.maximum(x, -700.0))),
    "softplus": lambda x, _, __: np.logaddexp(x, 0),
    "softsign": lambda x, _, __: x / (1 + np.abs(x)),
    "tanh": lambda x, _, __: np.tanh(x),
    "thresholded_relu": lambda x, a, _: np.where(x > a, x, 0),
}
_INTEGERS = [
    [DType.I16, DType.I8, None, None, hidden, DType.I16] for hidden in (DType.I8, DType.I16)
]  # types of x, r, b, p, h and c
_PEEPHOLES = 3  # of the input, output and forget gate


def _types(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    found = [None if t is None else t.dtype for t in inputs]
    if set(found) <= {DType.F32, None} or found in _INTEGERS:
        return None
    return ", ".join("none" if dtype is None else dtype.value for dtype in found)


def _integers(op: Recurrent, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    """Describes how integers deviate from an LSTM as in TFLite; None if they do not."""
    if required(inputs[0]).dtype is DType.F32:
        return None
    is_plain = op == Recurrent(gives_cell=True, cell_clip=op.cell_clip, rounding=op.rounding)
    if not is_plain:
        return f"it is a {op.cell.value} with other activations or limits"
    x, r, _, _, h, c = inputs
    return scales_misfit(required(x), required(h), required(c), required(r))


def _sequence(op: Recurrent, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x = required(inputs[0])
    is_image = x.rank == 4 and x.shape[0] == 1 and min(x.shape) > 0
    return None if is_image and x.shape[3] % op.cell.gates == 0 else limits.shape_text(x)


def _vectors(op: Recurrent, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    wanted = op.vector_sizes(required(inputs[0]))
    for (name, size), found in zip(wanted.items(), (*inputs[1:], *(None,) * len(wanted)), strict=False):
        shapes = ((1, size), (size // op.units(required(inputs[0])), op.units(required(inputs[0]))))
        if found is not None and found.shape not in shapes[: 1 + (name == "r")]:
            return f"{name} has shape {limits.shape_text(found)}, not 1x{size}"
        if found is None and size and name in "rb":
            return f"there is no {name}"
    return None


def _activations(op: Recurrent, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    count = len(op.cell.activations)
    is_known = set(op.activations) <= ACTIVATIONS.keys()
    sizes = {len(op.activations), len(op.alphas), len(op.betas)} - {0}
    return None if is_known and sizes <= {count} else f"they are {', '.join(op.activations)} of {count}"


def _of_a_cell(op: Recurrent, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    has_any = op.gives_cell or op.cell_clip > 0 or op.input_forget
    return f"it is a {op.cell.value}" if has_any and op.cell is not Cell.LSTM else None


@dataclass(frozen=True, slots=True)
class Recurrent(Op):
    """Inputs: x [1, T, N, G U], r, b, p, h, c: T steps of N sequences through G gates of U units.

    x is the input's contribution to the gates. r [G U, U] has a row of weights per gate and unit; weights
    computed in the run are a vector, [1, G U U]. A GRU with reset after the product has b [1, U], which is
    added to the hidden part of the candidate. p [1, 3 U] are the peepholes of an LSTM. h and c [1, N U] are
    the initial states, 0 if absent.

    Output: the hidden values after each step, [1, T, N, U]; with `gives_cell`, followed by the cells, [1, T,
    N, 2 U].
    """

    name: ClassVar[str] = "recurrent"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(2, 6),
        Constraint("all must be f32, or gates and cell i16, weights i8 and hidden values i8 or i16", _types),
        Constraint("x must be [1, steps, sequences, gates times units]", _sequence),
        Constraint("weights, biases and states must be vectors that fit the units", _vectors),
        Constraint("each activation must be known, and their number must be that of the cell", _activations),
        Constraint(
            "only the cell of an LSTM may be an output, clipped or tied to its input gate", _of_a_cell
        ),
        Constraint(
            "integers are supported for LSTMs with the usual activations that return the cell; the scale "
            "of gates must be 2**-12, of the cell a power of two from 2**-16 to 2**-8",
            _integers,
        ),
    )
    cell: Cell = Cell.LSTM
    gives_cell: bool = False
    activations: tuple[str, ...] = ()  # empty: the defaults
    alphas: tuple[float, ...] = ()
    betas: tuple[float, ...] = ()
    clip: float = 0.0  # largest argument of an activation; 0: unlimited
    cell_clip: float = 0.0  # largest cell; 0: unlimited
    input_forget: bool = False  # the forget gate is 1 minus the input gate
    rounding: RequantRounding = RequantRounding.DOUBLE  # of integer sums of hidden values

    def units(self, x: TensorType) -> int:
        return x.shape[3] // self.cell.gates

    def vector_sizes(self, x: TensorType) -> dict[str, int]:
        """Returns the number of elements of the inputs after x; 0 for inputs that this cell does not use."""
        units, count = self.units(x), x.shape[2]
        is_lstm, is_late = self.cell is Cell.LSTM, self.cell is Cell.GRU_RESET_AFTER
        return {
            "r": self.cell.gates * units * units,
            "b": units * is_late,
            "p": _PEEPHOLES * units * is_lstm,
            "h": count * units,
            "c": count * units * is_lstm,
        }

    def activation(self, which: int) -> tuple[str, float, float]:
        """Returns name, alpha and beta."""
        names = self.activations or self.cell.activations
        alpha, beta = (numbers[which] if numbers else 0.0 for numbers in (self.alphas, self.betas))
        return names[which], alpha, beta

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        x = required(inputs[0])
        return ((x.dtype.value, (*x.shape[:3], (1 + self.gives_cell) * self.units(x))),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        if required(inputs[0]).dtype is not DType.F32:
            return (self._on_integers([required(arrays[i]) for i in (0, 1, 4, 5)], inputs),)
        units = self.units(required(inputs[0]))
        floats = [None if a is None else a.astype(np.float64) for a in arrays]
        x, r, b, p, *states = floats + [None] * (6 - len(floats))
        weights = required(r).reshape(self.cell.gates, units, units)
        count = required(x).shape[2]
        h, c = (np.zeros((count, units)) if s is None else s.reshape(count, units) for s in states)
        rows = []
        for row in required(x)[0]:
            gates = row.reshape(count, self.cell.gates, units)
            if self.cell is Cell.LSTM:
                h, c = self._lstm(gates, weights, p, h, c)
            elif self.cell is Cell.RNN:
                h = self._activated(0, gates[:, 0] + h @ weights[0].T)
            else:
                h = self._gru(gates, weights, b, h)
            rows.append(np.concatenate([h, c], axis=1) if self.gives_cell else h)
        return (np.stack(rows)[None].astype(np.float32),)

    def _on_integers(self, arrays: Sequence[Array], inputs: Types) -> Array:
        x, r, h, c = (array.astype(np.int64) for array in arrays)
        h_type, count, units = required(inputs[4]), x.shape[2], self.units(required(inputs[0]))
        p = lstm_parameters(h_type, required(inputs[5]), required(inputs[1]), self.cell_clip)
        h, c, zero, rows = h.reshape(count, units), c.reshape(count, units), quant_of(h_type).zero_point, []
        for row in x[0]:
            sums = (h - zero) @ r.reshape(-1, units).T
            h, c = integer_step(row, sums, c, p, h_type, self.rounding)
            rows.append(np.concatenate([h, c], axis=1))
        return np.stack(rows)[None].astype(np.int16)

    def _lstm(
        self, x: FloatArray, r: FloatArray, p: FloatArray | None, h: FloatArray, c: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        to_i, to_o, to_f = (0.0,) * _PEEPHOLES if p is None else p.reshape(_PEEPHOLES, -1)
        i, o, f, new = (x[:, gate] + h @ r[gate].T for gate in range(4))
        taken = self._activated(0, i + to_i * c)
        kept = 1 - taken if self.input_forget else self._activated(0, f + to_f * c)
        c = kept * c + taken * self._activated(1, new)
        c = np.clip(c, -self.cell_clip, self.cell_clip) if self.cell_clip > 0 else c
        return self._activated(0, o + to_o * c) * self._activated(2, c, is_clipped=False), c

    def _gru(self, x: FloatArray, r: FloatArray, b: FloatArray | None, h: FloatArray) -> FloatArray:
        update, reset = (self._activated(0, x[:, gate] + h @ r[gate].T) for gate in range(2))
        is_late = self.cell is Cell.GRU_RESET_AFTER
        hidden = reset * (h @ r[2].T + required(b)) if is_late else (reset * h) @ r[2].T
        return (1 - update) * self._activated(1, x[:, 2] + hidden) + update * h

    def _activated(self, which: int, value: FloatArray, is_clipped: bool = True) -> FloatArray:
        name, alpha, beta = self.activation(which)
        limit = self.clip if is_clipped else 0.0
        inside = np.clip(value, -limit, limit) if limit > 0 else value
        return np.asarray(ACTIVATIONS[name](inside, alpha, beta), np.float64)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        x = required(inputs[0])
        return Cost(macs=x.shape[1] * x.shape[2] * required(inputs[1]).elements, elementwise=x.elements)
