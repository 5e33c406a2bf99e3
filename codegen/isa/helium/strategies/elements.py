"""Elements of rows on Helium: sums and differences of int8; arithmetic and curves of floats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aot.ops.binary import BinaryOp
from aot.ops.binary_rescale import add_parameters
from aot.ops.requant import quant_of
from codegen.formats import RowFormat
from codegen.isa.helium import NEEDS
from codegen.isa.helium.elements import fits_row, float_row, sum_row
from codegen.isa.helium.f32 import FLOAT_NEEDS
from codegen.isa.helium.f32_curves import CURVES, curve_row
from codegen.kernels.binary import KERNELS, is_int8, result_of, rounding_of_sum, sum_of
from codegen.kernels.elements import element_requests, goes_by_rows
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.row_nests import applied, is_dense, requests_anything
from codegen.kernels.strategy import F32_INPUTS, Condition, RowFormats, Strategy
from codegen.loops.ir import Instruction
from codegen.loops.schedule import fuse
from codegen.loops.tensorize import tensorize


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op = site.node.op.name
    (plain,) = KERNELS[op].strategies
    kernel = plain.lower(site, inputs, output)
    row = _sum_row("+" if op == "add" else "-", site, output.width * output.channels)
    proc = tensorize(fuse(kernel.proc, "column", "c", "i"), "i", [row])
    return replace(kernel, proc=proc, strategy="helium", why="8 at a time")


def _sum_row(sign: str, site: Site, count: int) -> Instruction:
    p = add_parameters(site.input(0), site.input(1), site.outputs[0])
    zero_points = quant_of(site.input(0)).zero_point, quant_of(site.input(1)).zero_point
    scalar = sum_of(sign)(site, zero_points)
    return sum_row(sign, count, p, zero_points, result_of(site), scalar, rounding_of_sum(site))


def _is_rounded_in_vectors(site: Site) -> bool:
    p = add_parameters(site.input(0), site.input(1), site.outputs[0])
    return fits_row(p, rounding_of_sum(site))


def _are_dense(rows: RowFormats) -> bool:
    """Returns True for two int8 rows and a sum without gaps."""
    formats = (*rows.inputs, rows.output)
    first = formats[0]
    return (
        all(f.dtype_bytes == 1 for f in formats)
        and all(f.c_step == 1 and f.x_step == f.channels for f in formats)
        and all((f.width, f.channels) == (first.width, first.channels) for f in formats)
    )


SUM = Strategy(
    "helium",
    element_requests,
    _lower,
    NEEDS,
    (
        Condition("quantized results of 8 bits", is_int8),
        Condition("sums rounded twice, or by powers of two to even or odd", _is_rounded_in_vectors),
        Condition("two operands that come with the run", lambda site: len(element_requests(site)) == 2),
        Condition("operands of the result's rows", goes_by_rows),
    ),
    (Condition("rows of bytes without gaps", _are_dense),),
)


def _lower_floats(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
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


F32 = Strategy(
    "helium-f32",
    element_requests,
    _lower_floats,
    FLOAT_NEEDS,
    (
        F32_INPUTS,
        Condition("two operands that come with the run", lambda site: len(element_requests(site)) == 2),
        Condition("operands of the result's rows", goes_by_rows),
    ),
    (Condition("rows of one size without gaps", _are_alike),),
)


def _lower_curves(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op = site.node.op.name
    kernel = applied(site, CURVES[op], inputs[0], output, f"of {op}")
    row = curve_row(op, output.width * output.channels)
    return replace(
        kernel,
        proc=tensorize(kernel.proc, "i", [row]),
        strategy="helium-f32",
        why="4 at a time, by polynomials",
    )


def _have_no_gaps(rows: RowFormats) -> bool:
    return is_dense(rows.inputs[0]) and is_dense(rows.output)


F32_CURVES = Strategy(
    "helium-f32",
    requests_anything,
    _lower_curves,
    FLOAT_NEEDS,
    (F32_INPUTS,),
    (Condition("rows without gaps", _have_no_gaps),),
)
