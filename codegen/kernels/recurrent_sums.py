"""Recurrent layers of floats whose steps compute all sums of gates first, by instructions."""

from __future__ import annotations

from collections.abc import Sequence

from aot.ir.types import DType
from aot.ops.activation import Activation
from aot.ops.recurrent import Cell, Recurrent
from codegen.formats import RowFormat
from codegen.kernels.f32_tiles import DotTile, TileResults, WithDots
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.recurrent import unscheduled_steps
from codegen.kernels.recurrent_step import Hidden, RecurrentStep
from codegen.kernels.strategy import Condition
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Accumulate,
    Binary,
    Buffer,
    Declare,
    For,
    Load,
    Role,
    Stmt,
    Store,
    at,
    load,
)


def _sums_first(site: Site) -> bool:
    return site.op_as(Recurrent).cell in (Cell.LSTM, Cell.RNN) and 1 in site.constants


SUMS_FIRST = Condition("cells whose sums need nothing of the same step, with constant weights", _sums_first)


class StepOfSums(RecurrentStep):
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


def tiled_steps(with_dots: WithDots, site: Site, step: StepOfSums) -> Kernel:
    results = TileResults(1, step.sums.elements, 1, 1, True, Activation.NONE)
    return with_dots(unscheduled_steps(site, step), DotTile(results, 1, step.units, 1), 1, "r")
