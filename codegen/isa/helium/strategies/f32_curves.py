"""Sigmoid and tanh of floats on Helium: rows, four results at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from codegen.formats import RowFormat
from codegen.isa.helium.f32 import FLOAT_NEEDS
from codegen.isa.helium.f32_curves import CURVES, curve_row
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.row_nests import applied, is_dense, requests_anything
from codegen.kernels.strategy import F32_INPUTS, Condition, RowFormats, Strategy
from codegen.loops.tensorize import tensorize


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op = site.node.op.name
    kernel = applied(site, CURVES[op], inputs[0], output, f"of {op}")
    row = curve_row(op, output.width * output.channels)
    return replace(
        kernel,
        proc=tensorize(kernel.proc, "i", [row]),
        strategy="helium-f32",
        why="4 at a time, by polynomials",
    )


def _are_dense(rows: RowFormats) -> bool:
    return is_dense(rows.inputs[0]) and is_dense(rows.output)


STRATEGY = Strategy(
    "helium-f32",
    requests_anything,
    _lower,
    FLOAT_NEEDS,
    (F32_INPUTS,),
    (Condition("rows without gaps", _are_dense),),
)
