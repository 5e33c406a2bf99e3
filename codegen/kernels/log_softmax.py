"""log_softmax: the maximum, the logarithm of the sum of exponentials, the differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from aot.ir.types import DType
from aot.ops.softmax import softmax_parameters
from codegen.formats import RowFormat
from codegen.isa.plain.f32 import f32_function
from codegen.isa.plain.softmax import LOGARITHM, exp_for_sum, least_of, log_share
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.row_nests import K, requests_anything, vector_kernel
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import Affine
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Buffer,
    BufferPlace,
    Const,
    Expr,
    For,
    Load,
    ScalarFunction,
    Stmt,
    Store,
    at,
    let,
    load,
    local,
    maximum,
)

_EXP = f32_function("softmax_exp", "expf(v)", math.exp, ("math.h",))
_LOG = f32_function("softmax_log", "logf(v)", math.log, ("math.h",))


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    is_f32, channels = site.input(0).dtype is DType.F32, inputs[0].channels
    dtype = DType.F32 if is_f32 else DType.I32
    most, total, log = (local(name, dtype) for name in ("most", "sum", "log"))
    exp, logarithm = (_EXP, _LOG) if is_f32 else _of_integers(site)

    def body(element: Callable[..., Load], place: Callable[[Affine], BufferPlace]) -> Sequence[Stmt]:
        below = element(K) - load(most)
        return (
            *let(most, element(0)),
            For("k", channels, (Store(at(most), maximum(load(most), element(K))),)),
            *let(total, Const(0.0 if is_f32 else 0)),
            For("k", channels, (Accumulate(at(total), Apply(exp, (below,))),)),
            *let(log, Apply(logarithm, (load(total),))),
            *_results(site, channels, log, below, place),
        )

    return vector_kernel(site, inputs[0], output, body, "a logarithm of a softmax")


def _of_integers(site: Site) -> tuple[ScalarFunction, ScalarFunction]:
    return exp_for_sum(softmax_parameters(site.input(0), 1.0)), LOGARITHM


def _results(
    site: Site, channels: int, log: Buffer, below: Expr, place: Callable[[Affine], BufferPlace]
) -> Sequence[Stmt]:
    if site.input(0).dtype is DType.F32:
        return (For("k", channels, (Store(place(K), below - load(log)),)),)
    parameters = softmax_parameters(site.input(0), 1.0)
    least = local("least", DType.I32)
    result = Apply(log_share(parameters), (below, load(least), load(log)))
    return (
        *let(least, Apply(least_of(parameters), (load(log),))),
        For("k", channels, (Store(place(K), result),)),
    )


KERNEL = OpKernel((Strategy("plain", requests_anything, _lower),), frozenset({DType.I8, DType.F32}))
