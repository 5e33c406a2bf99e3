"""Recurrent layers on Helium: dot products for all gates, then the units in vectors; integers and floats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from aot.ir.types import Array, DType
from aot.ops.recurrent import Cell
from aot.ops.requant import reduced_multiplier
from aot.ops.rounding import RequantRounding
from codegen.formats import RowFormat
from codegen.isa.helium import NEEDS
from codegen.isa.helium.f32 import FLOAT_NEEDS
from codegen.isa.helium.f32_curves import float_units
from codegen.isa.helium.lstm import lstm_units
from codegen.isa.helium.strategies.dot_product import helium_dot
from codegen.isa.helium.strategies.f32 import with_dots
from codegen.isa.plain.requantise import Requant, store_quantised
from codegen.kernels.dot_product import DotProblem
from codegen.kernels.f32_tiles import FITS
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.recurrent import IntegerLstmStep, requests, unscheduled_steps
from codegen.kernels.recurrent_sums import SUMS_FIRST, StepOfSums, tiled_steps
from codegen.kernels.requantised import Requantised
from codegen.kernels.strategy import NOT_FOR_SIZE, Condition, RowFormats, Strategy
from codegen.loops.affine import to_affine, variable
from codegen.loops.ir import Buffer, BufferPlace, Invoke, Role, Stmt, at, map_places


class _IntegerStep(IntegerLstmStep):
    """A step that computes the hidden values' parts of all gates before the first curve."""

    def __init__(self, site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> None:
        super().__init__(site, inputs, output)
        self.gates = Buffer("gates", DType.I16, site.constants[1].shape[0], Role.SCRATCH)
        self.scratch["gates"] = self.gates
        tail = self._tail(self.constants.pop("b", None))
        weights = self.constants.pop("r")
        self.dots = helium_dot(site, self._problem(tail))
        tables = tail.tables_of(self.dots.proc.params)
        self.constants |= {"w": self.dots.stored(weights), **tables}
        made = {buffer.name: buffer for buffer in self.dots.proc.params if buffer.name in self.constants}
        self.read = {"x": self.read["x"], **{n: b for n, b in self.read.items() if n in "hc"}, **made}

    def _tail(self, starts: Array | None) -> Requantised:
        mult, shift = (numbers.astype(np.int64) for numbers in self.p.from_hidden)
        rounding = self.op.rounding
        if rounding is RequantRounding.REDUCED:
            mult = reduced_multiplier(mult)
        rights = (int(-shift.max()), int(-shift.min()))
        limits = DType.I16.limits
        requant = Requant(0, *limits, rounding, rights, False, DType.I16, self.sum_dtype)
        start = np.zeros(mult.size, self.sum_dtype.numpy) if starts is None else starts
        scales: Mapping[str, Array] = {"mult": mult.astype(np.int32), "right": (-shift).astype(np.int8)}
        return Requantised(start, scales, requant, store_quantised(requant), sums_wrap=False)

    def _problem(self, tail: Requantised) -> DotProblem:
        rows = self.gates.elements
        return DotProblem(
            name="hidden",
            pixels=1,
            channels=rows,
            kernel_rows=1,
            taps=1,
            tap_step=0,
            length=self.units,
            x_dtype=DType.I16,
            x_elements=self.units,
            x_first=0,
            x_step=0,
            y_dtype=DType.I16,
            y_elements=rows,
            y_first=0,
            y_pixel_step=0,
            y_channel_step=1,
            tail=tail,
        )

    @property
    def body(self) -> tuple[Stmt, ...]:
        n, zero = variable("n"), to_affine(0)
        hidden = self._own(zero)

        def moved(place: BufferPlace) -> BufferPlace:
            """Replaces the vector by hidden values, and the result by gates."""
            if place.buffer.name == "x":
                return at(self.state, place.index + hidden)
            return at(self.gates, place.index) if place.buffer.name == "y" else place

        dots = [map_places(stmt, moved) for stmt in self.dots.proc.body]
        x = at(self.read["x"], (n + self.x_format.left) * self.x_format.x_step)
        places = (at(self.y, self._made(zero)), x, at(self.gates), at(self.state, hidden + self.size))
        return (*dots, Invoke(lstm_units(self), places), self.replaced)


def _lower_integers(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    return replace(unscheduled_steps(site, _IntegerStep(site, inputs, output)), strategy="helium")


def _is_integer(site: Site) -> bool:
    return site.input(0).dtype is DType.I16 and 1 in site.constants


INTEGERS = Strategy(
    "helium",
    requests,
    _lower_integers,
    NEEDS,
    (Condition("integers with constant weights", _is_integer), NOT_FOR_SIZE),
    takes=(
        Condition[RowFormats](
            "rows of pixels", lambda rows: rows.inputs[0].c_step == rows.output.c_step == 1
        ),
    ),
)


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


F32 = Strategy("helium-f32", requests, _lower, FLOAT_NEEDS, (SUMS_FIRST, *FITS))
