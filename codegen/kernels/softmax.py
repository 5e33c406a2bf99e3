"""softmax: the maximum, the sum of exponentials, the shares; each pixel by itself."""

from __future__ import annotations

from collections.abc import Sequence

from aot.ir.types import DType
from aot.ops.softmax import Softmax, softmax_parameters
from codegen.formats import Want, storage_dtype
from codegen.instr.softmax import RECIPROCAL, RECIPROCAL_BITS, exp_for_sum, share
from codegen.kernels.kernel import Kernel, OpKernel, RowAccess, Site
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Binary,
    Buffer,
    Const,
    Declare,
    For,
    Proc,
    Role,
    Store,
    at,
    load,
)
from codegen.model import RowFormat


def _wants(site: Site) -> tuple[Want | None, ...]:
    return (None,)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    return Kernel(
        schedule="plain",
        why="the only one",
        proc=_nest(site, inputs[0], output),
        summary=f"One row of a softmax: {output.width} times over {output.channels}.",
        access=(RowAccess(stride=1, first=0, count=1),),
    )


def _nest(site: Site, x: RowFormat, y: RowFormat) -> Proc:
    op = site.node.op
    assert isinstance(op, Softmax)
    parameters = softmax_parameters(site.input(0), op.beta)
    xs = Buffer("x", storage_dtype(site.input(0), x), x.row_elements, Role.ROWS)
    ys = Buffer("y", storage_dtype(site.outputs[0], y), y.row_elements, Role.OUTPUT)
    most, total, scale, bits = (
        Buffer(name, DType.I32, 1, Role.LOCAL) for name in ("most", "sum", "scale", "bits")
    )
    column, k = variable("column"), variable("k")
    element = load(xs, (column + x.left) * x.x_step + k * x.c_step)
    first = load(xs, (column + x.left) * x.x_step)
    below = Binary("-", element, load(most))
    result = Apply(share(parameters, site.outputs[0].dtype), (below, load(scale), load(bits)))
    body = (
        Declare(most),
        Store(at(most), first),
        For("k", x.channels, (Store(at(most), Binary("max", load(most), element)),)),
        Declare(total),
        Store(at(total), Const(0)),
        For("k", x.channels, (Accumulate(at(total), Apply(exp_for_sum(parameters), (below,))),)),
        Declare(scale),
        Store(at(scale), Apply(RECIPROCAL, (load(total),))),
        Declare(bits),
        Store(at(bits), Apply(RECIPROCAL_BITS, (load(total),))),
        For("k", x.channels, (Store(at(ys, (column + y.left) * y.x_step + k * y.c_step), result),)),
    )
    return Proc(f"softmax_{x.channels}_by_{x.width}", (xs, ys), (For("column", x.width, body),))


KERNEL = OpKernel(wants=_wants, lower=_lower, dtypes=frozenset({DType.I8, DType.I16}))
