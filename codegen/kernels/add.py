"""add: two values in their own scales to a third, pixel by pixel."""

from __future__ import annotations

from collections.abc import Sequence

from aot.ops.activation import integer_clamp
from aot.ops.add import Add, add_parameters
from aot.ops.requant import quant_of
from codegen.formats import Want, storage_dtype
from codegen.instr.instruction import Function
from codegen.instr.scalar import add_int8
from codegen.kernels.kernel import Kernel, OpKernel, RowAccess, Site
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import Apply, Buffer, For, Proc, Role, Store, at, load
from codegen.model import RowFormat


def _wants(site: Site) -> tuple[Want | None, ...]:
    return (None, None)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    a, b = inputs
    first = Buffer("a", storage_dtype(site.input(0), a), a.row_elements, Role.ROWS)
    second = Buffer("b", storage_dtype(site.input(1), b), b.row_elements, Role.ROWS)
    y = Buffer("y", storage_dtype(site.outputs[0], output), output.row_elements, Role.OUTPUT)
    total = Apply(_sum(site), (load(first, _place(a)), load(second, _place(b))))
    loops = For("column", output.width, (For("c", output.channels, (Store(at(y, _place(output)), total),)),))
    return Kernel(
        schedule="plain",
        why="the only one",
        proc=Proc(f"add_{output.channels}_by_{output.width}", (first, second, y), (loops,)),
        summary=f"One row of a sum: {output.width} pixels of {output.channels} channels.",
        access=(RowAccess(stride=1, first=0, count=1),) * 2,
    )


def _place(fmt: RowFormat) -> Affine:
    return (variable("column") + fmt.left) * fmt.x_step + variable("c") * fmt.c_step


def _sum(site: Site) -> Function:
    op, (out,) = site.node.op, site.outputs
    assert isinstance(op, Add)
    low, high = integer_clamp(op.activation, out)
    zero_points = (
        quant_of(site.input(0)).zero_point,
        quant_of(site.input(1)).zero_point,
        quant_of(out).zero_point,
    )
    return add_int8(add_parameters(site.input(0), site.input(1), out), zero_points, low, high, site.dsp)


KERNEL = OpKernel(wants=_wants, lower=_lower)
