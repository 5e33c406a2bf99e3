"""LSTM and simple recurrent layers of floats on Helium: sums with a lane per gate of a unit."""

from __future__ import annotations

from collections.abc import Sequence

from aot.ops.recurrent import Cell
from codegen.formats import RowFormat
from codegen.isa.helium.f32 import FLOAT_NEEDS
from codegen.isa.helium.f32_curves import float_units
from codegen.isa.helium.strategies.f32_dots import with_dots
from codegen.kernels.f32_tiles import FITS
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.recurrent import requests
from codegen.kernels.recurrent_sums import SUMS_FIRST, StepOfSums, tiled_steps
from codegen.kernels.strategy import Strategy
from codegen.loops.affine import to_affine
from codegen.loops.ir import Invoke, Stmt, at


class _StepOfVectors(StepOfSums):
    """A step that computes the units in vectors, too."""

    @property
    def body(self) -> tuple[Stmt, ...]:
        start = to_affine(0)
        cells = at(self.state, self._own(start) + self.size)
        places = (at(self.y, self._made(start)), at(self.sums), cells)
        units = Invoke(float_units(self.units, self.op.gives_cell, self.op.cell_clip), places)
        return (self.dots, units, self.replaced)


def _has_usual_curves(step: StepOfSums) -> bool:
    """Returns True if vectors compute the units."""
    op, usual = step.op, ("sigmoid", "tanh", "tanh")
    is_plain = not (op.clip or op.input_forget or "p" in step.read)
    return (
        op.cell is Cell.LSTM
        and is_plain
        and all(op.activation(n)[0] == name for n, name in enumerate(usual))
        and step.output.c_step == 1
    )


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    step = StepOfSums(site, inputs, output)
    if _has_usual_curves(step):
        step = _StepOfVectors(site, inputs, output)
    return tiled_steps(with_dots, site, step)


STRATEGY = Strategy("helium-f32", requests, _lower, FLOAT_NEEDS, (SUMS_FIRST, *FITS))
