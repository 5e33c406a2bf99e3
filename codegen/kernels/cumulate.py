"""cumulate: a running sum along one dimension, for each position in the others."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from aot.ir.types import DType
from aot.ops.binary_rescale import add_parameters, rescaled
from aot.ops.cumulate import Cumulate, first_sum
from aot.ops.requant import multiply_by_quantized_multiplier, quant_of
from codegen.formats import RowFormat
from codegen.isa.names import mangle
from codegen.isa.plain.scalar_math import CLAMP, TIMES, expression_function, parenthesised, unsigned, wrapped
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.row_nests import flat_kernel, flat_requests, operand, result
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Apply,
    Buffer,
    Const,
    Declare,
    Expr,
    For,
    Load,
    ScalarFunction,
    Stmt,
    Store,
    at,
    load,
    local,
)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op, x = site.op_as(Cumulate), site.input(0)
    size, inner = x.shape[op.axis], prod(x.shape[op.axis + 1 :])
    step = variable("k") * inner
    along = (size - 1) * inner + step * -1 if op.reverse else step
    place = variable("outer") * (size * inner) + along + variable("i")
    xs, ys = operand(site, 0, "x"), result(site)
    total = local("total", DType.I32 if x.quant is not None else x.dtype)
    grown = Store(at(total), _sum(site, total, load(xs, place)))
    stored: Stmt = Store(at(ys, place), _result(site, load(total)))
    steps = (stored, grown) if op.exclusive else (grown, stored)
    nothing = Store(at(total), Const(_beginning(site)))
    lines: tuple[Stmt, ...] = (Declare(total), nothing, For("k", size, steps))
    body = For("outer", x.elements // (size * inner), (For("i", inner, lines),))
    return flat_kernel(site, (xs,), (body,), "running sums")


def _beginning(site: Site) -> float:
    x = site.input(0)
    if x.quant is not None:
        return first_sum(x, add_parameters(x, x, site.outputs[0]))
    return 0.0 if x.dtype is DType.F32 else 0


def _sum(site: Site, total: Buffer, element: Load) -> Expr:
    x = site.input(0)
    if x.dtype is DType.F32:
        return load(total) + element
    u, dtype = unsigned(total.dtype), total.dtype
    if x.quant is None:
        name, text = f"sum_of_{dtype.value}", f"({dtype.c_name})(({u})a + ({u})b)"
        function = expression_function(name, dtype, (dtype, dtype), text, lambda a, b: wrapped(a + b, dtype))
        return Apply(function, (load(total), element))
    p = add_parameters(x, x, site.outputs[0])
    centred = f"(b - {parenthesised(quant_of(x).zero_point)}) * {1 << p.left_shift}"
    text = f"(int32_t)((uint32_t)a + (uint32_t)times({centred}, {p.first[0]}, {p.first[1]}))"

    def compute(a: int, b: int) -> int:
        return wrapped(a + int(rescaled(np.asarray(b), x, p.first, p.left_shift)), DType.I32)

    return Apply(_named("grown", dtype, (dtype, x.dtype), text, compute), (load(total), element))


def _result(site: Site, total: Load) -> Expr:
    x, out = site.input(0), site.outputs[0]
    if x.quant is None:
        return total
    p, (low, high) = add_parameters(x, x, out), out.dtype.limits

    zero = quant_of(out).zero_point

    def compute(value: int) -> int:
        return min(max(int(multiply_by_quantized_multiplier(np.int64(value), *p.out)) + zero, low), high)

    scaled = f"times(a, {p.out[0]}, {p.out[1]}) + {parenthesised(zero)}"
    text = f"({out.dtype.c_name})clamp({scaled}, {low}, {high})"
    return Apply(_named("stored", out.dtype, (DType.I32,), text, compute), (total,))


def _named(
    kind: str, dtype: DType, parameters: Sequence[DType], text: str, compute: object
) -> ScalarFunction:
    name = mangle(f"{kind}_sum", text)
    calls = (TIMES, CLAMP)
    return expression_function(name, dtype, parameters, text, compute, calls=calls)  # type: ignore[arg-type]


KERNEL = OpKernel((Strategy("plain", flat_requests, _lower),), frozenset(DType))
