"""energy: squares of real and imaginary parts, over a range of frequencies."""

from __future__ import annotations

from collections.abc import Sequence

from aot.ir.types import DType
from aot.ops.energy import Energy
from codegen.formats import RowFormat
from codegen.isa.plain.plain import expression_function
from codegen.kernels.flat import flat_kernel, flat_requests, operand, result
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.schedule import OpKernel, Schedule
from codegen.loops.affine import variable
from codegen.loops.ir import Apply, Const, For, Store, at, load

_SQUARES = expression_function(
    "sum_of_squares",
    DType.U32,
    (DType.I16, DType.I16),
    "(uint32_t)((int32_t)a * a) + (uint32_t)((int32_t)b * b)",
    lambda a, b: int(a) ** 2 + int(b) ** 2,
)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op, xs, ys, i = site.node.op, operand(site, 0, "x"), result(site), variable("i")
    assert isinstance(op, Energy)
    pair = i + op.first
    squares = Apply(_SQUARES, (load(xs, pair * 2), load(xs, pair * 2 + 1)))
    body = (
        For("i", op.first, (Store(at(ys, i), Const(0)),)),
        For("i", op.end - op.first, (Store(at(ys, pair), squares),)),
        For("i", ys.elements - op.end, (Store(at(ys, i + op.end), Const(0)),)),
    )
    return flat_kernel(site, (xs,), tuple(loop for loop in body if loop.extent), "the energies")


KERNEL = OpKernel((Schedule("plain", flat_requests, _lower),), frozenset(DType))
