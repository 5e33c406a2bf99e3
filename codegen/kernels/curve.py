"""curve: a table for int8, one C expression for everything else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from aot.ir.types import DType, TensorType
from aot.ops.curve import Curve, abs_multiplier, exp_points, rsqrt_multiplier
from aot.ops.curve import Function as Kind
from aot.ops.requant import quant_of
from codegen.formats import RowFormat
from codegen.isa.names import numbered_name
from codegen.isa.plain.f32 import literal
from codegen.isa.plain.inverse_root import INVERSE_ROOT
from codegen.isa.plain.lines import line_function
from codegen.isa.plain.plain import TIMES, expression_function, unsigned
from codegen.isa.plain.scalar_math import CLAMP, parenthesised
from codegen.kernels.elements import element_kernel, element_requests
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.lookup import lookup_kernel, site_table
from codegen.kernels.schedule import OpKernel, Schedule
from codegen.loops.ir import Apply, Expr, Load, ScalarFunction

_REALS = {
    Kind.ABS: "fabsf(a)",
    Kind.NEGATE: "-a",
    Kind.SIGN: "(float)((a > 0.0f) - (a < 0.0f))",
    Kind.SQUARE: "a * a",
    Kind.SQRT: "sqrtf(a)",
    Kind.RSQRT: "1.0f / sqrtf(a)",
    Kind.RECIPROCAL: "1.0f / a",
    Kind.EXP: "expf(a)",
    Kind.LOG: "logf(a)",
    Kind.SIN: "sinf(a)",
    Kind.COS: "cosf(a)",
    Kind.TAN: "tanf(a)",
    Kind.ASIN: "asinf(a)",
    Kind.ACOS: "acosf(a)",
    Kind.ATAN: "atanf(a)",
    Kind.SINH: "sinhf(a)",
    Kind.COSH: "coshf(a)",
    Kind.ASINH: "asinhf(a)",
    Kind.ACOSH: "acoshf(a)",
    Kind.ATANH: "atanhf(a)",
    Kind.ERF: "erff(a)",
    Kind.CEIL: "ceilf(a)",
    Kind.FLOOR: "floorf(a)",
    Kind.ROUND: "rintf(a)",  # half to even, unless the program has chosen another way of rounding
    Kind.ELU: "a < 0.0f ? {alpha} * expm1f(a) : a",
    Kind.GELU: "0.5f * a * (1.0f + erff(a * 0.70710678f))",
    Kind.GELU_BY_TANH: "0.5f * a * (1.0f + tanhf(0.79788456f * (a + 0.044715f * a * a * a)))",
    Kind.SOFTPLUS: "a > 0.0f ? a + log1pf(expf(-a)) : log1pf(expf(a))",
    Kind.SOFTSIGN: "a / (1.0f + fabsf(a))",
}
_INTEGERS = {
    Kind.ABS: "a < 0 ? ({T})(0u - ({U})a) : a",
    Kind.NEGATE: "({T})(0u - ({U})a)",
    Kind.SIGN: "({T})((a > 0) - (a < 0))",
    Kind.SQUARE: "({T})(({U})a * ({U})a)",
    Kind.NOT: "({T})~a",
}


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    table = site_table(site)
    if table is not None:
        return lookup_kernel(site, table, inputs[0], output)
    op = site.node.op
    assert isinstance(op, Curve)
    function = _function(op, site.input(0), site.outputs[0])

    def result(values: Sequence[Load]) -> Expr:
        return Apply(function, tuple(values))

    return element_kernel(site, inputs, output, result, f"the {op.of.value}")


def _function(op: Curve, x: TensorType, out: TensorType) -> ScalarFunction:
    kind, dtype = op.of.value, x.dtype
    if out.quant is not None:
        return _FIXED_POINT[op.of](op, x, out)
    if dtype is DType.F32:
        text = _REALS[op.of].format(alpha=literal(op.alpha))
        suffix = (
            "_" + "".join(c if c.isalnum() else "_" for c in literal(op.alpha)) if op.of is Kind.ELU else ""
        )
        name = f"real_{kind}{suffix}"
        return expression_function(name, dtype, (dtype,), text, _meaning(op, x, out), includes=("math.h",))
    text = "!a" if dtype is DType.BOOL else _INTEGERS[op.of].format(T=dtype.c_name, U=unsigned(dtype))
    return expression_function(f"{kind}_{dtype.value}", dtype, (dtype,), text, _meaning(op, x, out))


def _absolute(op: Curve, x: TensorType, out: TensorType) -> ScalarFunction:
    zero, low, high = parenthesised(quant_of(x).zero_point), *out.dtype.limits
    magnitude = f"(a < {zero} ? {zero} - a : a - {zero})"
    if quant_of(x).scale != quant_of(out).scale:
        mult, shift = abs_multiplier(x, out)
        magnitude = f"times({magnitude}, {mult}, {shift})"
    return _clamped(
        op, x, out, f"clamp({magnitude} + {parenthesised(quant_of(out).zero_point)}, {low}, {high})", (TIMES,)
    )


def _inverse_root(op: Curve, x: TensorType, out: TensorType) -> ScalarFunction:
    low, high = out.dtype.limits
    mult, shift = rsqrt_multiplier(x, out)
    centred = f"a - {parenthesised(quant_of(x).zero_point)}"
    root = f"times(inverse_root({centred}), {mult}, {shift - 20})"
    text = f"clamp({root} + {parenthesised(quant_of(out).zero_point)}, {low}, {high})"
    return _clamped(op, x, out, f"{centred} <= 0 ? {high} : {text}", (TIMES, INVERSE_ROOT))


def _exponential(op: Curve, x: TensorType, out: TensorType) -> ScalarFunction:
    line = line_function("exp", exp_points(x, out))
    return expression_function(
        f"{line.name}_i16",
        DType.I16,
        (DType.I32,),
        f"(int16_t){line.name}(a)",
        _meaning(op, x, out),
        calls=(line,),
    )


_FIXED_POINT: Mapping[Kind, Callable[[Curve, TensorType, TensorType], ScalarFunction]] = {
    Kind.ABS: _absolute,
    Kind.EXP: _exponential,
    Kind.RSQRT: _inverse_root,
}


def _clamped(
    op: Curve, x: TensorType, out: TensorType, text: str, calls: tuple[ScalarFunction, ...]
) -> ScalarFunction:
    return expression_function(
        numbered_name(f"{op.of.value}_{out.dtype.value}", text),
        out.dtype,
        (DType.I32,),
        f"({out.dtype.c_name})({text})",
        _meaning(op, x, out),
        calls=(CLAMP, *calls),
    )


def _meaning(op: Curve, x: TensorType, out: TensorType) -> Callable[[Any], Any]:
    def compute(value: Any) -> Any:
        array = np.asarray([value], x.dtype.numpy)
        return op.reference([array], (x,), (out,))[0][0].item()

    return compute


KERNELS: Mapping[str, OpKernel] = {
    "curve": OpKernel((Schedule("plain", element_requests, _lower),), frozenset(DType))
}
