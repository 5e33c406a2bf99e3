"""unary_math: a table for int8, one C expression for all other types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from aot.ir.types import DType, TensorType
from aot.ops.requant import quant_of
from aot.ops.unary_math import MathFunction, UnaryMath, abs_multiplier, exp_points, rsqrt_multiplier
from codegen.formats import RowFormat
from codegen.isa.names import mangle
from codegen.isa.plain.curves_16 import line_function
from codegen.isa.plain.f32 import literal
from codegen.isa.plain.scalar_math import CLAMP, TIMES, expression_function, parenthesised, unsigned
from codegen.isa.plain.signal import INVERSE_ROOT
from codegen.kernels.elements import applying, element_kernel, element_requests
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.lookup import lookup_kernel, site_table
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.ir import ScalarFunction

_FLOATS = {
    MathFunction.ABS: "fabsf(a)",
    MathFunction.NEGATE: "-a",
    MathFunction.SIGN: "(float)((a > 0.0f) - (a < 0.0f))",
    MathFunction.SQUARE: "a * a",
    MathFunction.SQRT: "sqrtf(a)",
    MathFunction.RSQRT: "1.0f / sqrtf(a)",
    MathFunction.RECIPROCAL: "1.0f / a",
    MathFunction.EXP: "expf(a)",
    MathFunction.LOG: "logf(a)",
    MathFunction.SIN: "sinf(a)",
    MathFunction.COS: "cosf(a)",
    MathFunction.TAN: "tanf(a)",
    MathFunction.ASIN: "asinf(a)",
    MathFunction.ACOS: "acosf(a)",
    MathFunction.ATAN: "atanf(a)",
    MathFunction.SINH: "sinhf(a)",
    MathFunction.COSH: "coshf(a)",
    MathFunction.ASINH: "asinhf(a)",
    MathFunction.ACOSH: "acoshf(a)",
    MathFunction.ATANH: "atanhf(a)",
    MathFunction.ERF: "erff(a)",
    MathFunction.CEIL: "ceilf(a)",
    MathFunction.FLOOR: "floorf(a)",
    MathFunction.ROUND: "rintf(a)",  # half to even, unless the program has set another rounding mode
    MathFunction.ELU: "a < 0.0f ? {alpha} * expm1f(a) : a",
    MathFunction.GELU: "0.5f * a * (1.0f + erff(a * 0.70710678f))",
    MathFunction.GELU_BY_TANH: "0.5f * a * (1.0f + tanhf(0.79788456f * (a + 0.044715f * a * a * a)))",
    MathFunction.SOFTPLUS: "a > 0.0f ? a + log1pf(expf(-a)) : log1pf(expf(a))",
    MathFunction.SOFTSIGN: "a / (1.0f + fabsf(a))",
}
_INTEGERS = {
    MathFunction.ABS: "a < 0 ? ({T})(0u - ({U})a) : a",
    MathFunction.NEGATE: "({T})(0u - ({U})a)",
    MathFunction.SIGN: "({T})((a > 0) - (a < 0))",
    MathFunction.SQUARE: "({T})(({U})a * ({U})a)",
    MathFunction.NOT: "({T})~a",
}


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    table = site_table(site)
    if table is not None:
        return lookup_kernel(site, table, inputs[0], output)
    op = site.op_as(UnaryMath)
    function = _function(op, site.input(0), site.outputs[0])
    return element_kernel(site, inputs, output, applying(function), f"the {op.of.value}")


def _function(op: UnaryMath, x: TensorType, out: TensorType) -> ScalarFunction:
    kind, dtype = op.of.value, x.dtype
    if out.quant is not None:
        return _FIXED_POINT[op.of](op, x, out)
    if dtype is DType.F32:
        text = _FLOATS[op.of].format(alpha=literal(op.alpha))
        suffix = (
            "_" + "".join(c if c.isalnum() else "_" for c in literal(op.alpha))
            if op.of is MathFunction.ELU
            else ""
        )
        name = f"real_{kind}{suffix}"
        return expression_function(name, dtype, (dtype,), text, _meaning(op, x, out), includes=("math.h",))
    text = "!a" if dtype is DType.BOOL else _INTEGERS[op.of].format(T=dtype.c_name, U=unsigned(dtype))
    return expression_function(f"{kind}_{dtype.value}", dtype, (dtype,), text, _meaning(op, x, out))


def _absolute(op: UnaryMath, x: TensorType, out: TensorType) -> ScalarFunction:
    zero, low, high = parenthesised(quant_of(x).zero_point), *out.dtype.limits
    magnitude = f"(a < {zero} ? {zero} - a : a - {zero})"
    if quant_of(x).scale != quant_of(out).scale:
        mult, shift = abs_multiplier(x, out)
        magnitude = f"times({magnitude}, {mult}, {shift})"
    return _clamped(
        op, x, out, f"clamp({magnitude} + {parenthesised(quant_of(out).zero_point)}, {low}, {high})", (TIMES,)
    )


def _inverse_root(op: UnaryMath, x: TensorType, out: TensorType) -> ScalarFunction:
    low, high = out.dtype.limits
    mult, shift = rsqrt_multiplier(x, out)
    centred = f"a - {parenthesised(quant_of(x).zero_point)}"
    root = f"times(inverse_root({centred}), {mult}, {shift - 20})"
    text = f"clamp({root} + {parenthesised(quant_of(out).zero_point)}, {low}, {high})"
    return _clamped(op, x, out, f"{centred} <= 0 ? {high} : {text}", (TIMES, INVERSE_ROOT))


def _exponential(op: UnaryMath, x: TensorType, out: TensorType) -> ScalarFunction:
    line = line_function("exp", exp_points(x, out))
    return expression_function(
        f"{line.name}_i16",
        DType.I16,
        (DType.I32,),
        f"(int16_t){line.name}(a)",
        _meaning(op, x, out),
        calls=(line,),
    )


_FIXED_POINT: Mapping[MathFunction, Callable[[UnaryMath, TensorType, TensorType], ScalarFunction]] = {
    MathFunction.ABS: _absolute,
    MathFunction.EXP: _exponential,
    MathFunction.RSQRT: _inverse_root,
}


def _clamped(
    op: UnaryMath, x: TensorType, out: TensorType, text: str, calls: tuple[ScalarFunction, ...]
) -> ScalarFunction:
    return expression_function(
        mangle(f"{op.of.value}_{out.dtype.value}", text),
        out.dtype,
        (DType.I32,),
        f"({out.dtype.c_name})({text})",
        _meaning(op, x, out),
        calls=(CLAMP, *calls),
    )


def _meaning(op: UnaryMath, x: TensorType, out: TensorType) -> Callable[[Any], Any]:
    def compute(value: Any) -> Any:
        array = np.asarray([value], x.dtype.numpy)
        return op.reference([array], (x,), (out,))[0][0].item()

    return compute


KERNEL = OpKernel((Strategy("plain", element_requests, _lower),), frozenset(DType))
