"""recurrent: one step per row of the sequence; the state between steps is in the arena.

A step sums the hidden values of all gates, then computes the cell's function of the gates. An integer LSTM
rescales the sums to the gates' scale.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from aot.ir.types import Array, DType
from aot.ops.activation import Activation
from aot.ops.integer_lstm import lstm_parameters
from aot.ops.recurrent import ACTIVATIONS, Cell, Recurrent
from aot.ops.requant import quant_of, reduced_multiplier
from aot.ops.rounding import RequantRounding
from codegen.formats import RowFormat, RowRequest, storage_dtype
from codegen.isa.names import mangle
from codegen.isa.plain.curves_16 import sigmoid_of, tanh_of
from codegen.isa.plain.f32 import clamp_f32, f32_function, literal
from codegen.isa.plain.requantise import Requant, store_quantised
from codegen.isa.plain.scalar_math import CLAMP
from codegen.kernels.kernel import Carried, Kernel, RowAccess, Site
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.kernels.unary import LOGISTIC, TANH
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Buffer,
    BufferPlace,
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
from codegen.loops.schedule import unroll_by

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
        self.site, self.op = site, _recurrent(site)
        self.x_format, self.output = inputs[0], output
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
            *self._grown(cell, grown),
            Store(o.place, self._activated(0, self._seen(1, o, cell))),
            self._result(o * self._activated(2, cell, is_clipped=False)),
        ]
        return [(*lines, *after, *self._given(cell))]

    def _grown(self, cell: Load, value: Expr) -> tuple[Stmt, ...]:
        """Returns the statements that replace a cell."""
        clipped = (Store(cell.place, _within(cell, self.op.cell_clip)),) if self.op.cell_clip > 0 else ()
        return (Store(cell.place, value), *clipped)

    def _given(self, cell: Load) -> tuple[Stmt, ...]:
        place = at(self.y, self._made(variable("u") + self.units))
        return (Store(place, cell),) if self.op.gives_cell else ()

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


_GATES = ("taken", "shown", "kept", "fresh")
_FRESH = 3
_FULL = DType.I16.limits


class IntegerLstmStep(RecurrentStep):
    """A step whose hidden values and cells have 16 bits."""

    def __init__(self, site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> None:
        super().__init__(site, inputs, output)
        h, c, r = (site.input(n) for n in (4, 5, 1))
        self.hidden_type = h
        self.p = lstm_parameters(h, c, r, self.op.cell_clip)
        is_wide = self.op.rounding is RequantRounding.REDUCED
        self.sum_dtype = DType.I64 if is_wide else DType.I32
        zero_point = quant_of(h).zero_point
        if zero_point:
            starts = -zero_point * site.constants[1].astype(np.int64).sum(axis=1)
            self.read["b"] = Buffer("b", self.sum_dtype, starts.size, Role.CONSTANT)
            self.constants["b"] = starts.astype(self.sum_dtype.numpy)

    def loops(self) -> list[tuple[Stmt, ...]]:
        u = variable("u")
        gates, lines = self._hidden_sums()
        values = [local(f"{name}_gate", DType.I32) for name in _GATES]
        for number, (value, total) in enumerate(zip(values, gates, strict=True)):
            lines += [*let(value, curved(number, self._inside(number, total)))]
        cell, shown_cell = load(self.state, self._own(u) + self.size), at(self.y, self._made(u + self.units))
        return [(*lines, *self.unit([load(v) for v in values], cell, shown_cell, self._result))]

    def unit(
        self, gates: Sequence[Expr], cell: Load, shown_cell: BufferPlace, made: Callable[[Expr], Store]
    ) -> tuple[Stmt, ...]:
        """Returns the statements of a unit, given its gates; `made` stores its hidden value."""
        taken, shown, kept, fresh = gates
        old = _requantised(kept * cell, self.p.forget)
        new = _requantised(taken * fresh, self.p.update)
        low, high = self.cell_limits
        return (
            Store(cell.place, Apply(CLAMP, (old + new, Const(low), Const(high)))),
            made(self._shown(shown, cell)),
            Store(shown_cell, cell),
        )

    @property
    def cell_limits(self) -> tuple[int, int]:
        return (-self.p.clip, self.p.clip) if self.p.clip else _FULL

    def _hidden_sums(self) -> tuple[list[Load], list[Stmt]]:
        u, j, starts = variable("u"), variable("j"), self.read.get("b")
        totals = [local(name, self.sum_dtype) for name in _GATES]
        lines: list[Stmt] = []
        products = []
        for gate, total in enumerate(totals):
            row = u + gate * self.units
            start = Const(0) if starts is None else load(starts, row)
            lines += [*let(total, start)]
            weight = load(self.read["r"], row * self.units + j)
            products.append(Accumulate(at(total), self.hidden(j) * weight))
        return [load(total) for total in totals], [*lines, For("j", self.units, tuple(products))]

    def _inside(self, gate: int, total: Load) -> Expr:
        mult, shift = (int(numbers[gate * self.units]) for numbers in self.p.from_hidden)
        scaled = _requantised(total, (mult, shift), rounding=self.op.rounding)
        return inside(self._input(gate), scaled)

    def _shown(self, gate: Expr, cell: Load) -> Expr:
        curve = tanh_of(self.p.tanh_multiplier, self.p.tanh_right)
        hidden = self.hidden_type
        product = gate * Apply(curve, (cell,))
        return _requantised(product, self.p.hidden, hidden.dtype, quant_of(hidden).zero_point)


def curved(gate: int, argument: Expr) -> Expr:
    """Returns the gate for the argument of its curve."""
    return Apply(tanh_of(3, 0) if gate == _FRESH else sigmoid_of(3, 0), (argument,))


def inside(from_input: Expr, from_hidden: Expr) -> Expr:
    """Returns the argument of a gate's curve."""
    return Apply(CLAMP, (from_input + from_hidden, Const(_FULL[0]), Const(_FULL[1])))


def _requantised(
    value: Expr,
    multiplier: tuple[int, int],
    dtype: DType = DType.I16,
    zero_point: int = 0,
    rounding: RequantRounding = RequantRounding.DOUBLE,
) -> Expr:
    mult, shift = multiplier
    is_wide = rounding is RequantRounding.REDUCED
    requant = Requant(
        zero_point,
        *dtype.limits,
        rounding,
        (-shift, -shift),
        sum_fits_30_bits=False,
        dtype=dtype,
        sum_dtype=DType.I64 if is_wide else DType.I32,
    )
    mult = int(reduced_multiplier(np.int64(mult))) if is_wide else mult
    return Apply(store_quantised(requant).store, (value, Const(mult), Const(-shift)))


_NEXT_ROW, _SAME_ROW = RowAccess(stride=1, first=0, count=1), RowAccess(stride=0, first=0, count=1)
_TURNS = 4  # unrolled iterations of a sum


def _moving(site: Site) -> list[int]:
    """Returns the inputs that are computed at run time."""
    return [i for i, tensor in enumerate(site.inputs) if tensor is not None and i not in site.constants]


def requests(site: Site) -> tuple[RowRequest | None, ...]:
    return tuple(RowRequest(dtype_bytes=site.input(i).dtype.bytes) for i in _moving(site))


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    kind = RecurrentStep if site.input(0).dtype is DType.F32 else IntegerLstmStep
    step = kind(site, inputs, output)
    kernel = unscheduled_steps(site, step)
    return replace(kernel, proc=_written_out(kernel.proc, step.op.cell))


def unscheduled_steps(site: Site, step: RecurrentStep | IntegerLstmStep) -> Kernel:
    """Returns the kernel of these steps without a schedule."""
    cell, count = step.op.cell, step.count
    name = f"{cell.value}_{count}x{step.units}"
    return Kernel(
        strategy="steps",
        why="only the states of the last step are kept",
        proc=Proc(name, step.params, (For("n", count, step.body),)),
        summary=f"A step of {cell.value}: {count} x {step.units} units.",
        access=tuple(_SAME_ROW if i else _NEXT_ROW for i in _moving(site)),
        constants=step.constants,
        carried=Carried(step.start(f"{name}_begin"), step.state),
    )


def _written_out(proc: Proc, cell: Cell) -> Proc:
    for var in ("j", "k") if cell is Cell.GRU else ("j",):
        proc = unroll_by(proc, var, _TURNS)
    return proc


KERNEL = OpKernel((Strategy("steps", requests, _lower),), frozenset({DType.I16, DType.F32}))
