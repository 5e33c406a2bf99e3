"""Recurrent layers of floats whose sums of gates are computed by instructions."""

from __future__ import annotations

from collections.abc import Sequence

from aot.ir.types import DType
from aot.ops.activation import Activation
from aot.ops.recurrent import Cell, Recurrent
from codegen.formats import RowFormat
from codegen.kernels.f32_tiles import DotTile, TileResults, WithDots
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.recurrent import Hidden, RecurrentStep, unscheduled_steps
from codegen.kernels.strategy import Condition
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Accumulate,
    Buffer,
    BufferPlace,
    Declare,
    For,
    Load,
    Role,
    Stmt,
    Store,
    at,
    load,
    local,
)


def _sums_first(site: Site) -> bool:
    return site.op_as(Recurrent).cell in (Cell.LSTM, Cell.RNN) and 1 in site.constants


SUMS_FIRST = Condition("cells whose sums need nothing of the same step, with constant weights", _sums_first)


def has_usual_curves(step: RecurrentStep) -> bool:
    """Returns True for an LSTM whose gates are sigmoids of their sums, times the tanh of a value."""
    op, usual = step.op, ("sigmoid", "tanh", "tanh")
    is_plain = not (op.clip or op.input_forget or "p" in step.read)
    return op.cell is Cell.LSTM and is_plain and all(op.activation(n)[0] == f for n, f in enumerate(usual))


class StepOfGates(RecurrentStep):
    """A step that computes the sums of a unit's gates together: they need no memory beyond the stack."""

    @property
    def channels(self) -> int:
        """Returns the number of sums that are computed together."""
        return self.op.cell.gates

    def _sums(
        self, names: Sequence[str], from_input: Sequence[int], hidden: Hidden, var: str = "j"
    ) -> tuple[list[Load], list[Stmt]]:
        gates = Buffer("gates", DType.F32, len(names), Role.LOCAL)
        begun = [Store(at(gates, n), self._input(gate)) for n, gate in enumerate(from_input)]
        weight = variable("u") + variable("o") * self.units
        dots = _dots(load(gates, variable("o")), self, weight, at(gates, variable("o")), len(names))
        return [load(gates, n) for n in range(len(names))], [Declare(gates), *begun, dots]


class StepOfSums(RecurrentStep):
    """A step that computes all sums of gates before the first activation, for vectors of many units."""

    def __init__(self, site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> None:
        super().__init__(site, inputs, output)
        self.sums = Buffer("sums", DType.F32, self.op.cell.gates * self.units, Role.SCRATCH)
        self.scratch["sums"] = self.sums

    @property
    def body(self) -> tuple[Stmt, ...]:
        return (self.dots, *super().body)

    @property
    def channels(self) -> int:
        return self.sums.elements

    @property
    def dots(self) -> For:
        fmt, o = self.x_format, variable("o")
        first = load(self.read["x"], (variable("n") + fmt.left) * fmt.x_step + o * fmt.c_step)
        return _dots(first, self, o, at(self.sums, o), self.channels)

    def _sums(
        self, names: Sequence[str], from_input: Sequence[int], hidden: Hidden, var: str = "j"
    ) -> tuple[list[Load], list[Stmt]]:
        return [load(self.sums, variable("u") + gate * self.units) for gate in from_input], []


def _dots(first: Load, step: RecurrentStep, row: Affine, result: BufferPlace, count: int) -> For:
    """Returns the loop over sums of hidden values times a row of weights, from a first value to a result."""
    total, k = local("sum", DType.F32), variable("k")
    product = Accumulate(at(total), step.hidden(k) * load(step.read["r"], row * step.units + k))
    window = For("r", 1, (For("t", 1, (For("k", step.units, (product,)),)),))
    one = (Declare(total), Store(at(total), first), window, Store(result, load(total)))
    return For("column", 1, (For("o", count, one),))


def tiled_steps(with_dots: WithDots, site: Site, step: StepOfGates | StepOfSums) -> Kernel:
    results = TileResults(1, step.channels, 1, 1, True, Activation.NONE)
    return with_dots(unscheduled_steps(site, step), DotTile(results, 1, step.units, 1), 1, "r")
