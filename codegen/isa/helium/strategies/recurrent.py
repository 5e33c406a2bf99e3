"""Recurrent layers on Helium: dot products for all gates, then the units in vectors; integers and floats.

Sigmoid and tanh interpolate between entries of a table, which a vector gathers. They are odd about their
middle, so that the result for a negative argument is the complement of the result for its size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from aot.ir.types import Array, DType
from aot.ops.requant import quant_of, reduced_multiplier
from aot.ops.rounding import RequantRounding
from codegen.formats import RowFormat
from codegen.isa.helium import INCLUDES, NEEDS
from codegen.isa.helium.f32 import FLOAT_NEEDS
from codegen.isa.helium.f32_curves import float_units
from codegen.isa.helium.fours import Fours
from codegen.isa.helium.requantise import NARROW_WORDS
from codegen.isa.helium.strategies.dot_product import helium_dot
from codegen.isa.helium.strategies.f32 import with_dots
from codegen.isa.names import mangle
from codegen.isa.plain.curves_16 import ENTRIES
from codegen.isa.plain.requantise import Requant, store_quantised
from codegen.kernels.dot_product import DotProblem
from codegen.kernels.f32_tiles import FITS
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.recurrent import IntegerLstmStep, curved, inside, requests, unscheduled_steps
from codegen.kernels.recurrent_sums import SUMS_FIRST, StepOfSums, has_usual_curves, tiled_steps
from codegen.kernels.requantised import Requantised
from codegen.kernels.strategy import NOT_FOR_SIZE, Condition, RowFormats, Strategy
from codegen.loops.affine import to_affine, variable
from codegen.loops.ir import (
    Buffer,
    BufferPlace,
    For,
    Instruction,
    Invoke,
    Role,
    Stmt,
    Store,
    at,
    load,
    map_places,
)

_GATES, _FRESH = 4, 3  # gates, and the one whose curve is tanh
_INSTRUCTIONS, _STACK_BYTES = 150, 64


def _part(name: str, definition: str, *calls: Instruction) -> Instruction:
    return Instruction(name, (), (), "", definition, INCLUDES, calls=calls, needs=NEEDS)


def _curve(name: str, says: str, bits: int, largest: str, behind: str) -> Instruction:
    """Returns a curve of numbers in steps of the table's first difference / 2^bits."""
    definition = f"""\
/* {says} */
static inline __attribute__((always_inline)) int32x4_t {name}(int32x4_t scaled)
{{
    const int32x4_t size = vabsq_s32(scaled), sign = vshrq_n_s32(scaled, 31);
    const int32x4_t step = vminq_s32(vshrq_n_s32(size, {bits}), vdupq_n_s32(254));
    const uint32x4_t at = vreinterpretq_u32_s32(step);
    const int32x4_t entry = vreinterpretq_s32_u32(vldrhq_gather_shifted_offset_u32(sigmoid_entries, at));
    const int32x4_t next = vreinterpretq_s32_u32(vldrhq_gather_shifted_offset_u32(sigmoid_entries + 1, at));
    const int32x4_t part = vandq_s32(size, vdupq_n_s32({(1 << bits) - 1}));
    const int32x4_t line = vmlaq_n_s32(vmulq_s32(part, vsubq_s32(next, entry)), entry, {1 << bits});
    const int32x4_t v = vpselq_s32(vdupq_n_s32({largest}), line, vcmpgeq_n_s32(size, {255 << bits}));
    {behind}
}}
"""
    return Instruction(name, (), (), "", definition, INCLUDES, calls=(ENTRIES,), needs=NEEDS)


_SIGMOIDS = _curve(
    "sigmoids",
    "sigmoid(v / 3 / 2^12) as a fraction of 2^15.",
    9,
    "0x7FFF << 10",
    "return vrshrq_n_s32(veorq_s32(v, vandq_s32(sign, vdupq_n_s32((1 << 25) - 1))), 10);",
)
_TANHS = _curve(
    "tanhs",
    "tanh(v / 3 / 2^12) as a fraction of 2^15.",
    8,
    "0xFFFF << 8",
    "return vrshrq_n_s32(veorq_s32(vsubq_s32(v, vdupq_n_s32(1 << 23)), sign), 8);",
)
_SATURATED = _part(
    "saturated_words",
    """\
static inline __attribute__((always_inline)) int32x4_t saturated_words(int32x4_t v)
{
    return vmovlbq_s16(narrow_words(v));
}
""",
    NARROW_WORDS,
)


def lstm_units(step: IntegerLstmStep) -> Instruction:
    """Computes the gates, cells, hidden values and results of a sequence's units.

    Its parameters: the result with the hidden values, then the cells; the parts of the gates that come from
    the input and from the hidden values, which the gates replace; the cells.
    """
    count, u = step.units, variable("u")
    y, cells = Buffer("y", DType.I16, 0, Role.OUTPUT), Buffer("cells", DType.I16, 0, Role.STATE)
    x, gates = Buffer("x", DType.I16, 0, Role.ROWS), Buffer("gates", DType.I16, 0, Role.SCRATCH)

    def curves(gate: int) -> For:
        own = u + gate * count
        return For("u", count, (Store(at(gates, own), curved(gate, inside(load(x, own), load(gates, own)))),))

    made = [load(gates, u + gate * count) for gate in range(_GATES)]
    unit = step.unit(made, load(cells, u), at(y, u + count), lambda value: Store(at(y, u), value))
    zero_point, limits = quant_of(step.hidden_type).zero_point, step.hidden_type.dtype.limits
    facts = (*step.p.forget, *step.p.update, *step.p.hidden, step.p.tanh_multiplier, step.p.tanh_right)
    name = mangle(f"lstm_{count}_units", *facts, *step.cell_limits, zero_point, *limits)
    return Instruction(
        name=name,
        params=(y, x, gates, cells),
        body=(*map(curves, range(_GATES)), For("u", count, unit)),
        call=f"{name}({{y}}, {{x[0]}}, {{gates}}, {{cells}});",
        definition=_definition(name, step),
        includes=INCLUDES,
        calls=(_SIGMOIDS, _TANHS, _SATURATED),
        needs=NEEDS,
        machine_instructions=_INSTRUCTIONS,
        stack_bytes=_STACK_BYTES,
    )


def _definition(name: str, step: IntegerLstmStep) -> str:
    count, p = step.units, step.p
    zero_point, (low, high) = quant_of(step.hidden_type).zero_point, step.hidden_type.dtype.limits
    cell_low, cell_high = step.cell_limits
    own = Fours(count, "h", "s32")
    lines = [
        f"/* {count} units of an LSTM: their gates and cells; the hidden values, then the cells, at y. */",
        f"static inline __attribute__((always_inline)) void {name}(",
        "    int16_t *y, const int16_t *x, int16_t *gates, int16_t *cells)",
        "{",
        *_curves("sigmoids", 0, _FRESH * count),
        *_curves("tanhs", _FRESH * count, count),
        *own.loop(
            [
                f"const int32x4_t taken = {own.loaded('gates + u')};",
                f"const int32x4_t shown = {own.loaded(f'gates + u + {count}')};",
                f"const int32x4_t kept = {own.loaded(f'gates + u + {2 * count}')};",
                f"const int32x4_t fresh = {own.loaded(f'gates + u + {3 * count}')};",
                f"int32x4_t v = vmulq_s32(kept, {own.loaded('cells + u')});",
                *_scaled(p.forget),
                "int32x4_t cell = saturated_words(v);",
                "v = vmulq_s32(taken, fresh);",
                *_scaled(p.update),
                "cell = vaddq_s32(cell, saturated_words(v));",
                f"cell = vminq_s32(vmaxq_s32(cell, vdupq_n_s32({cell_low})), vdupq_n_s32({cell_high}));",
                own.stored("cells + u", "cell"),
                own.stored(f"y + u + {count}", "cell"),
                f"v = vmulq_n_s32(cell, {p.tanh_multiplier});",
                *([f"v = vrshrq_n_s32(v, {p.tanh_right});"] if p.tanh_right else []),
                "v = vmulq_s32(shown, tanhs(v));",
                *_scaled(p.hidden),
                *([f"v = vqaddq_n_s32(v, {zero_point});"] if zero_point else []),
                f"v = vminq_s32(vmaxq_s32(v, vdupq_n_s32({low})), vdupq_n_s32({high}));",
                own.stored("y + u", "v"),
            ]
        ),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _curves(curve: str, first: int, count: int) -> list[str]:
    """Returns C code that replaces the hidden values' part of gates by the gates."""
    own, at_first = Fours(count, "h", "s32"), f" + {first}" if first else ""
    total = f"vaddq_s32({own.loaded(f'x + u{at_first}')}, {own.loaded(f'gates + u{at_first}')})"
    scaled = f"vmulq_n_s32(saturated_words({total}), 3)"
    return own.loop([own.stored(f"gates + u{at_first}", f"{curve}({scaled})")])


def _scaled(multiplier: tuple[int, int]) -> list[str]:
    """Returns C code of v * mult / 2^31 * 2^shift, rounded after each division as the reference does."""
    mult, shift = multiplier
    lines = [f"v = vshlq_n_s32(v, {shift});"] if shift > 0 else []
    lines.append(f"v = vqrdmulhq_n_s32(v, {mult});")
    if shift < 0:
        lines += ["v = vaddq_s32(v, vshrq_n_s32(v, 31));", f"v = vrshrq_n_s32(v, {-shift});"]
    return lines


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


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    step = StepOfSums(site, inputs, output)
    if has_usual_curves(step) and step.output.c_step == 1:
        step = _StepOfVectors(site, inputs, output)
    return tiled_steps(with_dots, site, step)


F32 = Strategy("helium-f32", requests, _lower, FLOAT_NEEDS, (SUMS_FIRST, *FITS))
