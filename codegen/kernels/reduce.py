"""reduce, arg_extreme: computes each result from all its elements, over flat memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from aot.ir.types import DType, dense_strides
from aot.ops.reduce import ArgExtreme, Reduce, Reduction, sum_multiplier
from aot.ops.requant import multiply_by_quantized_multiplier, quant_of
from codegen.formats import RowFormat
from codegen.isa.names import mangle
from codegen.isa.plain.scalar_math import CLAMP, TIMES, expression_function, parenthesised, unsigned, wrapped
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.row_nests import StridedNest, flat_kernel, flat_requests, operand, result
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Apply,
    Binary,
    Buffer,
    Choose,
    Const,
    Declare,
    Expr,
    For,
    Index,
    Load,
    ScalarFunction,
    Store,
    at,
    less,
    load,
    local,
    maximum,
    minimum,
)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op, x = site.op_as(Reduce), site.input(0)
    xs, ys = operand(site, 0, "x"), result(site)
    kept, gone = _nests(x.shape, op.axes)
    total = local("total", DType.I32 if _is_scaled(site) else x.dtype)
    first = xs, kept.element(0)
    is_extreme = op.by in (Reduction.MAXIMUM, Reduction.MINIMUM)

    def element(places: tuple[Affine, ...]) -> Load:
        return load(xs, kept.element(0) + places[0])

    if op.by is Reduction.SUM and total.dtype is DType.F32:
        combined = gone.summed(total, element, "k")
    else:
        one_by_one = Store(at(total), _combined(site, total, element((gone.element(0, "k"),))))
        combined = gone.loops(one_by_one, prefix="k")
    body = kept.loops(
        Declare(total),
        Store(at(total), load(*first) if is_extreme else _nothing(op.by, x.dtype)),
        *combined,
        Store(at(ys, kept.element(1)), _finished(site, load(total))),
    )
    return flat_kernel(site, (xs,), body, f"a {op.by.value}")


def _nests(shape: tuple[int, ...], axes: Sequence[int]) -> tuple[StridedNest, StridedNest]:
    """Returns the loops over the results, and those over the elements of one."""
    strides = dense_strides(shape)
    left = [a for a in range(len(shape)) if a not in axes]
    sizes = tuple(shape[a] for a in left)
    kept = StridedNest(sizes, (tuple(strides[a] for a in left), dense_strides(sizes))).merged()
    gone = StridedNest(tuple(shape[a] for a in axes), (tuple(strides[a] for a in axes),)).merged()
    return kept, gone


def _is_scaled(site: Site) -> bool:
    op = site.op_as(Reduce)
    return site.outputs[0].quant is not None and op.by is Reduction.SUM


def _nothing(by: Reduction, dtype: DType) -> Const:
    one = 1 if by in (Reduction.PRODUCT, Reduction.ALL) else 0
    return Const(float(one) if dtype is DType.F32 else one)


def _combined(site: Site, total: Buffer, element: Load) -> Expr:
    op, dtype = site.op_as(Reduce), total.dtype
    match op.by:
        case Reduction.MAXIMUM:
            return maximum(load(total), element)
        case Reduction.MINIMUM:
            return minimum(load(total), element)
        case Reduction.ANY:
            return maximum(load(total), element)
        case Reduction.ALL:
            return minimum(load(total), element)
    sign = "+" if op.by is Reduction.SUM else "*"
    if dtype is DType.F32 or _is_scaled(site):
        return Binary(sign, load(total), element)
    return Apply(_wrapping(sign, dtype), (load(total), element))


def _wrapping(sign: str, dtype: DType) -> ScalarFunction:
    u, name = unsigned(dtype), {"+": "sum", "*": "product"}[sign]

    def compute(a: int, b: int) -> int:
        return wrapped(a + b if sign == "+" else a * b, dtype)

    text = f"({dtype.c_name})(({u})a {sign} ({u})b)"
    return expression_function(f"{name}_of_{dtype.value}", dtype, (dtype, dtype), text, compute)


def _finished(site: Site, total: Load) -> Expr:
    if not _is_scaled(site):
        return total
    op, x, out = site.op_as(Reduce), site.input(0), site.outputs[0]
    zero_sum, zero_point = quant_of(x).zero_point * op.count(x), quant_of(out).zero_point
    (mult, shift), (low, high) = sum_multiplier(x, out), out.dtype.limits

    def compute(value: int) -> int:
        scaled = int(multiply_by_quantized_multiplier(np.int64(value - zero_sum), mult, shift))
        return min(max(scaled + zero_point, low), high)

    text = f"times(a - {parenthesised(zero_sum)}, {mult}, {shift}) + {parenthesised(zero_point)}"
    function = expression_function(
        mangle("stored_sum", text, out.dtype),
        out.dtype,
        (DType.I32,),
        f"({out.dtype.c_name})clamp({text}, {low}, {high})",
        compute,
        calls=(TIMES, CLAMP),
    )
    return Apply(function, (total,))


def _lower_index(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op, x = site.op_as(ArgExtreme), site.input(0)
    xs, ys = operand(site, 0, "x"), result(site)
    kept, _ = _nests(x.shape, (op.axis,))
    stride = dense_strides(x.shape)[op.axis]
    best, place = local("best", x.dtype), local("place", DType.I32)
    element = load(xs, kept.element(0) + variable("k") * stride)
    pair = (load(best), element) if op.by is Reduction.MAXIMUM else (element, load(best))
    is_better = less(*pair)
    body = kept.loops(
        Declare(best),
        Declare(place),
        Store(at(best), load(xs, kept.element(0))),
        Store(at(place), Const(0)),
        For(
            "k",
            x.shape[op.axis],
            (
                Store(at(place), Choose(is_better, Index(variable("k")), load(place))),
                Store(at(best), Choose(is_better, element, load(best))),
            ),
        ),
        Store(at(ys, kept.element(1)), load(place)),
    )
    return flat_kernel(site, (xs,), body, f"the places of a {op.by.value}")


KERNELS: Mapping[str, OpKernel] = {
    "reduce": OpKernel((Strategy("plain", flat_requests, _lower),), frozenset(DType)),
    "arg_extreme": OpKernel((Strategy("plain", flat_requests, _lower_index),), frozenset(DType)),
}
