"""Sums, differences and products of floats on Helium: rows, four results at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aot.ops.binary import BinaryOp
from codegen.formats import RowFormat
from codegen.isa.helium.f32 import FLOAT_NEEDS
from codegen.isa.helium.f32_rows import float_row
from codegen.kernels.binary import KERNELS
from codegen.kernels.elements import element_requests, goes_by_rows
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.row_nests import is_dense
from codegen.kernels.strategy import F32_INPUTS, Condition, RowFormats, Strategy
from codegen.loops.schedule import fuse
from codegen.loops.tensorize import tensorize


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op = site.node.op
    assert isinstance(op, BinaryOp)
    (plain,) = KERNELS[op.name].strategies
    kernel = plain.lower(site, inputs, output)
    row = float_row(op.name, output.width * output.channels, op.activation)
    proc = tensorize(fuse(kernel.proc, "column", "c", "i"), "i", [row])
    return replace(kernel, proc=proc, strategy="helium-f32", why="4 at a time")


def _are_alike(rows: RowFormats) -> bool:
    """Returns True for two rows and a result of the same size without gaps."""
    size = rows.output.width, rows.output.channels
    return all(is_dense(f) and (f.width, f.channels) == size for f in (*rows.inputs, rows.output))


STRATEGY = Strategy(
    "helium-f32",
    element_requests,
    _lower,
    FLOAT_NEEDS,
    (
        F32_INPUTS,
        Condition("two operands that come with the run", lambda site: len(element_requests(site)) == 2),
        Condition("operands of the result's rows", goes_by_rows),
    ),
    (Condition("rows of one size without gaps", _are_alike),),
)
