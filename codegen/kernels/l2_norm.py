"""l2_norm: the sum of squares, then each channel divided by its root, pixel by pixel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from aot.ir.types import DType
from aot.ops.l2_norm import LEAST_NORM, OUTPUT_BITS, L2Norm
from aot.ops.requant import multiply_by_quantized_multiplier, quant_of
from codegen.formats import RowFormat
from codegen.isa.plain.f32 import f32_function, literal
from codegen.isa.plain.scalar_math import CLAMP, TIMES, expression_function
from codegen.isa.plain.signal import ROOT_MULT, ROOT_SHIFT
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.row_nests import K, requests_anything, summed, vector_kernel
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import Affine
from codegen.loops.ir import (
    Apply,
    BufferPlace,
    Const,
    Expr,
    For,
    Load,
    ScalarFunction,
    Stmt,
    Store,
    let,
    load,
    local,
)

_NORM = f32_function(
    "norm_of",
    f"v < {literal(LEAST_NORM**2)} ? {literal(LEAST_NORM)} : sqrtf(v)",
    lambda v: max(math.sqrt(v), LEAST_NORM),
    ("math.h",),
)
_QUOTIENT = expression_function("quotient", DType.F32, (DType.F32, DType.F32), "a / b", lambda a, b: a / b)


def _result(x: int, mult: int, shift: int) -> int:
    scaled = multiply_by_quantized_multiplier(np.int64(x), mult, shift + OUTPUT_BITS)
    return min(max(int(scaled), -128), 127)


def _unsigned_result(x: int, mult: int, shift: int) -> int:
    scaled = multiply_by_quantized_multiplier(np.int64(x << OUTPUT_BITS), mult, shift)
    return min(max(int(scaled), -128), 127)


_SHARE = expression_function(
    "share_of_norm",
    DType.I8,
    (DType.I32,) * 3,
    f"(int8_t)clamp(times(a, b, c + {OUTPUT_BITS}), -128, 127)",
    _result,
    calls=(TIMES, CLAMP),
)
_UNSIGNED_SHARE = expression_function(
    "unsigned_share_of_norm",
    DType.I8,
    (DType.I32,) * 3,
    f"(int8_t)clamp(times(a * {1 << OUTPUT_BITS}, b, c), -128, 127)",
    _unsigned_result,
    calls=(TIMES, CLAMP),
)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    x, channels, is_f32 = site.input(0), inputs[0].channels, site.input(0).dtype is DType.F32
    total = local("sum", DType.F32 if is_f32 else DType.I32)
    steps: tuple[tuple[str, ScalarFunction], ...] = (("norm", _NORM),)
    last: ScalarFunction = _QUOTIENT
    if not is_f32:
        last = _UNSIGNED_SHARE if site.op_as(L2Norm).is_unsigned else _SHARE
        steps = (("mult", ROOT_MULT), ("shift", ROOT_SHIFT))
    divisors = [(local(name, total.dtype), function) for name, function in steps]

    def body(element: Callable[..., Load], place: Callable[[Affine], BufferPlace]) -> Sequence[Stmt]:
        def centred(k: Affine) -> Expr:
            return element(k) if is_f32 else element(k) - quant_of(x).zero_point

        made = [
            stmt for buffer, function in divisors for stmt in let(buffer, Apply(function, (load(total),)))
        ]
        result = Apply(last, (centred(K), *(load(buffer) for buffer, _ in divisors)))
        return (
            *let(total, Const(0.0 if is_f32 else 0)),
            *summed(total, "k", channels, lambda k: centred(k) * centred(k)),
            *made,
            For("k", channels, (Store(place(K), result),)),
        )

    return vector_kernel(site, inputs[0], output, body, "vectors of length 1")


KERNEL = OpKernel((Strategy("plain", requests_anything, _lower),), frozenset({DType.I8, DType.F32}))
