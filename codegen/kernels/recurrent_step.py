"""A step of a recurrent layer as loops: sums of hidden values, then the cell's function of the gates.

for u: gates = x[gate, u] + sum of h[j] * r[gate, u, j]
    y[u] = the cell's function of the gates
h = y
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from aot.ir.types import Array, DType
from aot.ops.activation import Activation
from aot.ops.recurrent import ACTIVATIONS, Cell, Recurrent
from codegen.formats import RowFormat, storage_dtype
from codegen.isa.names import mangle
from codegen.isa.plain.f32 import clamp_f32, f32_function, literal
from codegen.kernels.kernel import Site
from codegen.kernels.unary import LOGISTIC, TANH
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Buffer,
    Const,
    Expr,
    For,
    Load,
    Proc,
    Role,
    ScalarFunction,
    Stmt,
    Store,
    at,
    let,
    load,
    local,
    maximum,
    minimum,
)

_FIXED: Mapping[str, ScalarFunction] = {
    "relu": clamp_f32(Activation.RELU),
    "sigmoid": LOGISTIC,
    "tanh": TANH,
}
# C code; {a} and {b} are alpha and beta.
_TEXTS: Mapping[str, str] = {
    "affine": "{a} * v + {b}",
    "elu": "v < 0.0f ? {a} * expm1f(v) : v",
    "hard_sigmoid": "fminf(fmaxf({a} * v + {b}, 0.0f), 1.0f)",
    "leaky_relu": "v < 0.0f ? {a} * v : v",
    "scaled_tanh": "{a} * tanhf({b} * v)",
    "softplus": "v > 0.0f ? v + log1pf(expf(-v)) : log1pf(expf(v))",
    "softsign": "v / (1.0f + fabsf(v))",
    "thresholded_relu": "v > {a} ? v : 0.0f",
}


def gate_function(name: str, alpha: float, beta: float) -> ScalarFunction:
    """Returns f(v) for that name in ACTIVATIONS."""
    if name in _FIXED:
        return _FIXED[name]
    text = _TEXTS[name].format(a=f"({literal(alpha)})", b=f"({literal(beta)})")
    unique = mangle(f"real_{name}", text)
    return f32_function(unique, text, partial(_meaning, name, alpha, beta), ("math.h",))


def _meaning(name: str, alpha: float, beta: float, v: float) -> float:
    return float(ACTIVATIONS[name](v, alpha, beta))


NAMES = ("x", "r", "b", "p", "h", "c")  # of the inputs
_STATES = ("h", "c")
_ONE = Const(1.0)
Hidden = Callable[[Affine], Expr]


def _recurrent(site: Site) -> Recurrent:
    return site.op_as(Recurrent)


class RecurrentStep:
    """The buffers of a recurrent layer, and the loops of a step for sequence n."""

    def __init__(self, site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> None:
        self.op, self.x_format, self.output = _recurrent(site), inputs[0], output
        self.units, self.count = self.op.units(site.input(0)), site.input(0).shape[2]
        self.dtype = site.outputs[0].dtype  # of the state and the result
        self.read = {
            "x": Buffer("x", storage_dtype(site.input(0), inputs[0]), inputs[0].row_elements, Role.ROWS)
        }
        for i, tensor in enumerate(site.inputs):
            if i and tensor is not None:
                role = Role.CONSTANT if i in site.constants else Role.ROWS
                self.read[NAMES[i]] = Buffer(NAMES[i], tensor.dtype, tensor.elements, role)
        self.y = Buffer("y", self.dtype, output.row_elements, Role.OUTPUT)
        self.size = self.count * self.units
        self.states = _STATES if self.op.cell is Cell.LSTM else _STATES[:1]
        self.state = Buffer("state", self.dtype, len(self.states) * self.size, Role.STATE)
        apart = ("kept", "reset") if self.op.cell is Cell.GRU else ()
        self.scratch = {name: Buffer(name, DType.F32, self.units, Role.SCRATCH) for name in apart}

        self.constants: dict[str, Array] = {NAMES[i]: a.reshape(-1) for i, a in site.constants.items()}

    @property
    def params(self) -> tuple[Buffer, ...]:
        read = (buffer for name, buffer in self.read.items() if name not in _STATES)
        return (*read, self.state, self.y, *self.scratch.values())

    def start(self, name: str) -> Proc:
        """Returns the proc that sets the state before the first step."""
        i, given = variable("i"), [self.read.get(state) for state in self.states]
        stores = tuple(
            Store(at(self.state, i + n * self.size), Const(0.0) if first is None else load(first, i))
            for n, first in enumerate(given)
        )
        params = (*(first for first in given if first is not None), self.state)
        return Proc(name, params, (For("i", self.size, stores),))

    @property
    def body(self) -> tuple[Stmt, ...]:
        """Returns the statements of a step. All hidden values are read before one is replaced."""
        return (*(For("u", self.units, loop) for loop in self.loops()), self.replaced)

    @property
    def replaced(self) -> For:
        """Returns the loop that replaces the hidden values."""
        i = variable("i")
        store = Store(at(self.state, self._own(i)), load(self.y, self._made(i)))
        return For("i", self.units, (store,))

    def loops(self) -> list[tuple[Stmt, ...]]:
        """Returns the loops of a step over the units."""
        return _CELLS[self.op.cell](self)

    def rnn(self) -> list[tuple[Stmt, ...]]:
        (total,), lines = self._sums(("gate",), (0,), self.hidden)
        return [(*lines, self._result(self._activated(0, total)))]

    def lstm(self) -> list[tuple[Stmt, ...]]:
        u = variable("u")
        (i, o, f, new), lines = self._sums(("taken", "shown", "kept", "fresh"), range(4), self.hidden)
        cell = load(self.state, self._own(u) + self.size)
        forget = _ONE - i if self.op.input_forget else self._activated(0, self._seen(2, f, cell))
        grown = f * cell + i * self._activated(1, new)
        after = [
            Store(i.place, self._activated(0, self._seen(0, i, cell))),
            Store(f.place, forget),
            Store(cell.place, grown),
            *([Store(cell.place, _within(cell, self.op.cell_clip))] if self.op.cell_clip > 0 else []),
            Store(o.place, self._activated(0, self._seen(1, o, cell))),
            self._result(o * self._activated(2, cell, is_clipped=False)),
        ]
        also = (Store(at(self.y, self._made(u + self.units)), cell),) if self.op.gives_cell else ()
        return [(*lines, *after, *also)]

    def gru(self) -> list[tuple[Stmt, ...]]:
        """Returns the loops of a GRU. All hidden values are reset before the sums of the new values begin."""
        u, kept, reset = variable("u"), self.scratch["kept"], self.scratch["reset"]
        (update, share), lines = self._sums(("update", "share"), (0, 1), self.hidden)
        (new,), later = self._sums(("fresh",), (2,), lambda k: load(reset, k), "k")
        first = (
            Store(at(kept, u), self._activated(0, update)),
            Store(at(reset, u), self._activated(0, share) * self.hidden(u)),
        )
        return [(*lines, *first), (*later, *self._blended(new, new, load(kept, u)))]

    def gru_reset_after(self) -> list[tuple[Stmt, ...]]:
        (update, share, new), lines = self._sums(("update", "share", "fresh"), (0, 1), self.hidden)
        gates = [Store(gate.place, self._activated(0, gate)) for gate in (update, share)]
        total = self._input(2) + share * new
        return [(*lines, *gates, *self._blended(new, total, update))]

    def _blended(self, new: Load, total: Expr, update: Expr) -> tuple[Stmt, ...]:
        fresh = (_ONE - update) * new
        old = update * self.hidden(variable("u"))
        return Store(new.place, self._activated(1, total)), self._result(fresh + old)

    def _sums(
        self, names: Sequence[str], from_input: Sequence[int], hidden: Hidden, var: str = "j"
    ) -> tuple[list[Load], list[Stmt]]:
        """Returns a gate's sum for each name, which share loads of hidden values, and the statements.

        The gates are those of `from_input`, whose sums start with the input's part. They are followed by a
        gate that starts with a separate bias.
        """
        u, k, r = variable("u"), variable(var), self.read["r"]
        totals = [local(name, DType.F32) for name in names]
        gates = [*from_input, *range(len(from_input), len(names))]
        starts = [self._input(g) if g in from_input else load(self.read["b"], u) for g in gates]
        begun = [line for total, start in zip(totals, starts, strict=True) for line in let(total, start)]
        products = [
            Accumulate(at(total), hidden(k) * load(r, ((u + g * self.units) * self.units) + k))
            for total, g in zip(totals, gates, strict=True)
        ]
        return [load(total) for total in totals], [*begun, For(var, self.units, tuple(products))]

    def _input(self, gate: int) -> Load:
        fmt = self.x_format
        pixel = (variable("n") + fmt.left) * fmt.x_step
        return load(self.read["x"], pixel + (variable("u") + gate * self.units) * fmt.c_step)

    def _seen(self, gate: int, value: Expr, cell: Load) -> Expr:
        """Adds the gate's peephole term of the cell, if there is one."""
        peepholes = self.read.get("p")
        if peepholes is None:
            return value
        weight = load(peepholes, variable("u") + gate * self.units)
        return value + weight * cell

    def _activated(self, which: int, value: Expr, is_clipped: bool = True) -> Expr:
        inside = _within(value, self.op.clip if is_clipped else 0.0)
        return Apply(gate_function(*self.op.activation(which)), (inside,))

    def _own(self, unit: Affine) -> Affine:
        """Returns the element of the state for sequence n."""
        return variable("n") * self.units + unit

    def hidden(self, unit: Affine) -> Load:
        return load(self.state, self._own(unit))

    def _made(self, channel: Affine) -> Affine:
        """Returns the element of the result for sequence n."""
        return (variable("n") + self.output.left) * self.output.x_step + channel * self.output.c_step

    def _result(self, value: Expr) -> Store:
        return Store(at(self.y, self._made(variable("u"))), value)


_CELLS: Mapping[Cell, Callable[[RecurrentStep], list[tuple[Stmt, ...]]]] = {
    Cell.RNN: RecurrentStep.rnn,
    Cell.GRU: RecurrentStep.gru,
    Cell.GRU_RESET_AFTER: RecurrentStep.gru_reset_after,
    Cell.LSTM: RecurrentStep.lstm,
}


def _within(value: Expr, limit: float) -> Expr:
    if limit <= 0:
        return value
    return maximum(minimum(value, limit), Const(-limit))
