"""LSTM and simple recurrent layers of floats on Helium: sums with a lane per gate of a unit."""

from __future__ import annotations

from collections.abc import Sequence

from aot.ir.types import DType
from aot.ops.activation import Activation
from aot.ops.recurrent import Cell, Recurrent
from codegen.formats import RowFormat
from codegen.isa.helium.f32 import FLOAT_NEEDS, FloatResults
from codegen.isa.helium.f32_curves import float_units
from codegen.isa.helium.f32_dots import FloatTile
from codegen.isa.helium.strategies.f32_dots import with_dots
from codegen.isa.helium.strategies.f32_tiles import FITS
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.recurrent import requests, unscheduled_steps
from codegen.kernels.recurrent_step import Hidden, RecurrentStep
from codegen.kernels.strategy import Condition, Strategy
from codegen.loops.affine import to_affine, variable
from codegen.loops.ir import (
    Accumulate,
    Binary,
    Buffer,
    Declare,
    For,
    Invoke,
    Load,
    Role,
    Stmt,
    Store,
    at,
    load,
)


class _StepOfSums(RecurrentStep):
    """A step that computes all sums of gates before the first activation."""

    def __init__(self, site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> None:
        super().__init__(site, inputs, output)
        self.gates = site.input(0).shape[3] // self.units
        self.sums = Buffer("sums", DType.F32, self.gates * self.units, Role.SCRATCH)
        self.scratch["sums"] = self.sums

    @property
    def body(self) -> tuple[Stmt, ...]:
        return (self._dots(), *super().body)

    def _dots(self) -> For:
        total, fmt = Buffer("sum", DType.F32, 1, Role.LOCAL), self.x_format
        o, k = variable("o"), variable("k")
        first = load(self.read["x"], (variable("n") + fmt.left) * fmt.x_step + o * fmt.c_step)
        weight = load(self.read["r"], o * self.units + k)
        product = Accumulate(at(total), Binary("*", self._hidden(k), weight))
        window = For("r", 1, (For("t", 1, (For("k", self.units, (product,)),)),))
        result = Store(at(self.sums, o), load(total))
        one = (Declare(total), Store(at(total), first), window, result)
        return For("column", 1, (For("o", self.sums.elements, one),))

    def _sums(
        self, names: Sequence[str], from_input: Sequence[int], hidden: Hidden, var: str = "j"
    ) -> tuple[list[Load], list[Stmt]]:
        return [load(self.sums, variable("u") + gate * self.units) for gate in from_input], []

    @property
    def has_usual_curves(self) -> bool:
        """Returns True if vectors compute the units."""
        op, usual = self.op, ("sigmoid", "tanh", "tanh")
        is_plain = not (op.clip or op.input_forget or "p" in self.read)
        return (
            op.cell is Cell.LSTM
            and is_plain
            and all(op.activation(n)[0] == name for n, name in enumerate(usual))
            and self.output.c_step == 1
        )


class _StepOfVectors(_StepOfSums):
    """A step that computes the units in vectors, too."""

    @property
    def body(self) -> tuple[Stmt, ...]:
        start = to_affine(0)
        cells = at(self.state, self._own(start) + self.size)
        places = (at(self.y, self._made(start)), at(self.sums), cells)
        units = Invoke(float_units(self.units, self.op.gives_cell, self.op.cell_clip), places)
        return (self._dots(), units, self.replaced)


def _sums_first(site: Site) -> bool:
    op = site.node.op
    assert isinstance(op, Recurrent)
    return op.cell in (Cell.LSTM, Cell.RNN) and 1 in site.constants


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    step = _StepOfSums(site, inputs, output)
    if step.has_usual_curves:
        step = _StepOfVectors(site, inputs, output)
    results = FloatResults(1, step.sums.elements, 1, 1, True, Activation.NONE)
    return with_dots(unscheduled_steps(site, step), FloatTile(results, 1, step.units, 1), 1, "r")


STRATEGY = Strategy(
    "helium-f32",
    requests,
    _lower,
    FLOAT_NEEDS,
    (Condition("cells whose sums need nothing of the same step, with constant weights", _sums_first), *FITS),
)
