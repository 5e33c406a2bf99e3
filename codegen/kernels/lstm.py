"""lstm: all steps of a sequence by one call; the result itself holds what the next step needs.

for u: y[cell u] = c[u]
for s in steps: for u in units:
    four gates = start[gate, u] + x[s] * w[gate, u] + y[step before] * r[gate, u]
    y[cell u] = forget * y[cell u] + input * cell gate
    y[s, u] = output * tanh(y[cell u])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops.lstm import GATES, Lstm, LstmParameters
from aot.ops.requant import quant_of, reduced_multiplier
from aot.ops.rounding import RequantRounding
from codegen.formats import RowFormat, RowRequest, storage_dtype
from codegen.isa.plain.requantise import Requant, store_quantised
from codegen.isa.plain.scalar_math import CLAMP
from codegen.isa.plain.sigmoid_16 import sigmoid_of, tanh_of
from codegen.kernels.kernel import Kernel, RowAccess, Site
from codegen.kernels.schedule import OpKernel, Schedule
from codegen.kernels.unary import LOGISTIC, TANH
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Binary,
    Buffer,
    BufferPlace,
    Const,
    Declare,
    Expr,
    For,
    Proc,
    Role,
    ScalarFunction,
    Stmt,
    Store,
    at,
    load,
)

_ROW = RowAccess(stride=1, first=0, count=1)
_INPUT, _FORGET, _CELL, _OUTPUT = range(GATES)
_FULL = DType.I16.limits


def _op(site: Site) -> Lstm:
    assert isinstance(site.node.op, Lstm)
    return site.node.op


def _requests(site: Site) -> tuple[RowRequest | None, ...]:
    return tuple(RowRequest(dtype_bytes=site.input(i).dtype.bytes) for i in range(3))


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    nest = _Nest(site, inputs, output)
    op = _op(site)
    before = variable("s") * nest.units
    first = nest.step(Affine(), Affine(), lambda j: load(nest.h, j))
    # Steps after the first read what the step before has written.
    seen = variable("s") * nest.depth + nest.depth
    later = nest.step(seen, before + nest.units, lambda j: load(nest.y, nest.place(before + j)))
    u = variable("u")
    body: list[Stmt] = [For("u", nest.units, (Store(nest.cell(u), load(nest.c, u)),)), first]
    body += [For("s", op.steps - 1, (later,))] if op.steps > 1 else []
    return Kernel(
        schedule="plain",
        why="one unit at a time",
        proc=Proc(f"lstm_{op.steps}_steps_{nest.depth}_to_{nest.units}", nest.params, tuple(body)),
        summary=f"{op.steps} steps of an LSTM: {nest.depth} -> {nest.units} units.",
        access=(_ROW,) * 3,
        constants=nest.constants,
    )


class _Nest:
    """The buffers of an LSTM and the statements of a step."""

    def __init__(self, site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> None:
        self.site, self.output = site, output
        self.is_f32 = site.input(0).dtype is DType.F32
        weights, recurrent = site.constants[3], site.constants[4]
        self.units, self.depth = recurrent.shape[1], weights.shape[1]
        self.x, self.h, self.c = (
            Buffer(name, storage_dtype(site.input(n), fmt), fmt.row_elements, Role.ROWS)
            for n, (name, fmt) in enumerate(zip("xhc", inputs, strict=True))
        )
        self.y = Buffer("y", site.outputs[0].dtype, output.row_elements, Role.OUTPUT)
        self.w = Buffer("w", site.input(3).dtype, weights.size, Role.CONSTANT)
        self.r = Buffer("r", site.input(4).dtype, recurrent.size, Role.CONSTANT)
        wide = _op(site).rounding is RequantRounding.REDUCED
        self.sum_dtype = DType.F32 if self.is_f32 else DType.I64 if wide else DType.I32
        self.start = Buffer("bias", self.sum_dtype, GATES * self.units, Role.CONSTANT)
        self.start_hidden = Buffer("bias_hidden", self.sum_dtype, GATES * self.units, Role.CONSTANT)

    @property
    def params(self) -> tuple[Buffer, ...]:
        return (self.x, self.h, self.c, self.y, self.w, self.r, self.start, self.start_hidden)

    @property
    def constants(self) -> Mapping[str, Array]:
        """The zero points of the input and of the hidden values are in the beginnings of the sums."""
        weights, recurrent, bias = (self.site.constants[n] for n in (3, 4, 5))
        tables = {"w": weights.reshape(-1), "r": recurrent.reshape(-1)}
        if self.is_f32:
            return {**tables, "bias": bias, "bias_hidden": np.zeros_like(bias)}
        x_zero, h_zero = (quant_of(self.site.input(n)).zero_point for n in (0, 1))
        start = bias.astype(np.int64) - x_zero * weights.astype(np.int64).sum(axis=1)
        hidden = -h_zero * recurrent.astype(np.int64).sum(axis=1)
        dtype = self.sum_dtype.numpy
        return {**tables, "bias": start.astype(dtype), "bias_hidden": hidden.astype(dtype)}

    def place(self, element: Affine) -> Affine:
        return element * self.output.c_step + self.output.left * self.output.x_step

    def cell(self, u: Affine) -> BufferPlace:
        return at(self.y, self.place(u + _op(self.site).steps * self.units))

    def step(self, seen: Affine, made: Affine, hidden: Callable[[Affine], Expr]) -> For:
        """One step, whose input begins at that element of x and whose result begins at that element of y."""
        u = variable("u")
        statements, sums = self._sums(seen, hidden)
        dtype = DType.F32 if self.is_f32 else DType.I32
        gates = [Buffer(f"gate{gate}", dtype, 1, Role.LOCAL) for gate in range(GATES)]
        stores: list[Stmt] = []
        for gate, value in enumerate(sums):
            stores += [Declare(gates[gate]), Store(at(gates[gate]), self._curve(gate, value))]
        values = [load(gate) for gate in gates]
        curves = self._tails()
        cell = load(self.y, self.cell(u).index)
        return For(
            "u",
            self.units,
            (
                *statements,
                *stores,
                Store(self.cell(u), curves.cell(values, cell)),
                Store(at(self.y, self.place(made + u)), curves.hidden(values[_OUTPUT], cell)),
            ),
        )

    def _sums(
        self, seen: Affine, hidden: Callable[[Affine], Expr]
    ) -> tuple[list[Stmt], list[tuple[Expr, Expr]]]:
        """The sums of all gates at once, which load what they share once: of the input, of what is hidden."""
        k, j = variable("k"), variable("j")
        rows = [variable("u") + gate * self.units for gate in range(GATES)]
        inputs = [Binary("*", load(self.x, seen + k), load(self.w, row * self.depth + k)) for row in rows]
        hiddens = [Binary("*", hidden(j), load(self.r, row * self.units + j)) for row in rows]
        ones, others = (
            [Buffer(f"{name}{gate}", self.sum_dtype, 1, Role.LOCAL) for gate in range(GATES)]
            for name in ("input", "hidden")
        )
        statements = [
            *_begun(ones, [load(self.start, row) for row in rows]),
            For("k", self.depth, _added(ones, inputs)),
            *_begun(others, [load(self.start_hidden, row) for row in rows]),
            For("j", self.units, _added(others, hiddens)),
        ]
        return statements, [(load(one), load(other)) for one, other in zip(ones, others, strict=True)]

    def _curve(self, gate: int, sums: tuple[Expr, Expr]) -> Expr:
        if self.is_f32:
            return Apply(TANH if gate == _CELL else LOGISTIC, (Binary("+", *sums),))
        p = self._parameters()
        first = gate * self.units
        scaled = [
            _requantised(total, (int(mult[first]), int(shift[first])), rounding=_op(self.site).rounding)
            for total, (mult, shift) in zip(sums, (p.from_input, p.from_hidden), strict=True)
        ]
        total = Apply(CLAMP, (Binary("+", *scaled), Const(_FULL[0]), Const(_FULL[1])))
        return Apply(tanh_of(3, 0) if gate == _CELL else sigmoid_of(3, 0), (total,))

    def _parameters(self) -> LstmParameters:
        return _op(self.site).parameters(self.site.inputs)

    def _tails(self) -> _RealTails | _IntegerTails:
        if self.is_f32:
            return _RealTails(_op(self.site).cell_clip)
        return _IntegerTails(self._parameters(), self.site.input(1))


def _begun(sums: Sequence[Buffer], starts: Sequence[Expr]) -> list[Stmt]:
    pairs = zip(sums, starts, strict=True)
    return [s for total, start in pairs for s in (Declare(total), Store(at(total), start))]


def _added(sums: Sequence[Buffer], products: Sequence[Expr]) -> tuple[Stmt, ...]:
    return tuple(Accumulate(at(total), product) for total, product in zip(sums, products, strict=True))


class _RealTails:
    """The way from gates to the cell and the result, in real numbers."""

    def __init__(self, clip: float) -> None:
        self.clip = clip

    def cell(self, gates: Sequence[Expr], cell: Expr) -> Expr:
        kept, added = Binary("*", gates[_FORGET], cell), Binary("*", gates[_INPUT], gates[_CELL])
        total = Binary("+", kept, added)
        if self.clip <= 0:
            return total
        return Binary("max", Binary("min", total, Const(self.clip)), Const(-self.clip))

    def hidden(self, gate: Expr, cell: Expr) -> Expr:
        return Binary("*", gate, Apply(TANH, (cell,)))


class _IntegerTails:
    def __init__(self, p: LstmParameters, hidden: TensorType) -> None:
        self.p, self.hidden_type = p, hidden

    def cell(self, gates: Sequence[Expr], cell: Expr) -> Expr:
        kept = _requantised(Binary("*", gates[_FORGET], cell), self.p.forget)
        added = _requantised(Binary("*", gates[_INPUT], gates[_CELL]), self.p.update)
        low, high = (-self.p.clip, self.p.clip) if self.p.clip else _FULL
        return Apply(CLAMP, (Binary("+", kept, added), Const(low), Const(high)))

    def hidden(self, gate: Expr, cell: Expr) -> Expr:
        curve: ScalarFunction = tanh_of(self.p.tanh_multiplier, self.p.tanh_right)
        product = Binary("*", gate, Apply(curve, (cell,)))
        return _requantised(
            product, self.p.hidden, self.hidden_type.dtype, quant_of(self.hidden_type).zero_point
        )


def _requantised(
    value: Expr,
    multiplier: tuple[int, int],
    dtype: DType = DType.I16,
    zero_point: int = 0,
    rounding: RequantRounding = RequantRounding.DOUBLE,
) -> Expr:
    mult, shift = multiplier
    wide = rounding is RequantRounding.REDUCED
    requant = Requant(
        zero_point,
        *dtype.limits,
        rounding,
        (-shift, -shift),
        sum_fits_30_bits=False,
        dtype=dtype,
        sum_dtype=DType.I64 if wide else DType.I32,
    )
    mult = int(reduced_multiplier(np.int64(mult))) if wide else mult
    return Apply(store_quantised(requant).store, (value, Const(mult), Const(-shift)))


KERNEL = OpKernel((Schedule("plain", _requests, _lower),), frozenset({DType.I8, DType.I16, DType.F32}))
