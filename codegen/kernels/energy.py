"""energy: re * re + im * im, over a range of frequencies."""

from __future__ import annotations

from collections.abc import Sequence

from aot.ir.types import DType
from aot.ops.energy import Energy
from codegen.formats import RowFormat
from codegen.isa.plain.scalar_math import expression_function
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.row_nests import AxisVector, last_axis_kernel, last_axis_requests
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import variable
from codegen.loops.ir import Apply, Const, For, Stmt, Store

_SQUARES = expression_function(
    "sum_of_squares",
    DType.U32,
    (DType.I16, DType.I16),
    "(uint32_t)((int32_t)a * a) + (uint32_t)((int32_t)b * b)",
    lambda a, b: int(a) ** 2 + int(b) ** 2,
)
_REAL_SQUARES = expression_function(
    "real_sum_of_squares", DType.F32, (DType.F32, DType.F32), "a * a + b * b", lambda a, b: a * a + b * b
)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op, (out,), i = site.op_as(Energy), site.outputs, variable("i")
    first, end, bins = op.first, op.end, out.shape[-1]
    squares, zero = (_REAL_SQUARES, Const(0.0)) if out.dtype is DType.F32 else (_SQUARES, Const(0))

    def body(x: AxisVector, y: AxisVector) -> Sequence[Stmt]:
        pair = i + first
        found = Apply(squares, (x.load(pair * 2), x.load(pair * 2 + 1)))
        loops = (
            For("i", first, (Store(y.at(i), zero),)),
            For("i", end - first, (Store(y.at(pair), found),)),
            For("i", bins - end, (Store(y.at(i + end), zero),)),
        )
        return [loop for loop in loops if loop.extent]

    return last_axis_kernel(site, inputs, output, body, "the energies")


KERNEL = OpKernel((Strategy("plain", last_axis_requests, _lower),), frozenset(DType))
