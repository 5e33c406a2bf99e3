"""A step of an integer LSTM: rescales sums of hidden values to the gates' scale and adds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from aot.ir.types import DType
from aot.ops.integer_lstm import lstm_parameters
from aot.ops.requant import quant_of, reduced_multiplier
from aot.ops.rounding import RequantRounding
from codegen.formats import RowFormat
from codegen.isa.plain.curves_16 import sigmoid_of, tanh_of
from codegen.isa.plain.requantise import Requant, store_quantised
from codegen.isa.plain.scalar_math import CLAMP
from codegen.kernels.kernel import Site
from codegen.kernels.recurrent_step import RecurrentStep
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Buffer,
    BufferPlace,
    Const,
    Expr,
    For,
    Load,
    Role,
    Stmt,
    Store,
    at,
    let,
    load,
    local,
)

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
