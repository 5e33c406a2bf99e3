"""Functions of one element: a table for int8, a C function for floats."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from aot.ir.types import DType, TensorType
from aot.ops.activation import integer_clamp
from aot.ops.op import Op
from aot.ops.requant import quant_of
from aot.ops.unary import Clamp, HardSwish, LeakyRelu, Logistic, Tanh, argument_16, clamp_multiplier
from codegen.formats import RowFormat
from codegen.isa.names import mangle
from codegen.isa.plain.curves_16 import sigmoid_of, tanh_of
from codegen.isa.plain.f32 import clamp_f32, f32_function, literal
from codegen.isa.plain.scalar_math import CLAMP, TIMES, expression_function, parenthesised
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.lookup import lookup_kernel, site_table
from codegen.kernels.row_nests import applied, requests_anything
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.ir import ScalarFunction


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    table = site_table(site)
    if table is not None:
        return lookup_kernel(site, table, inputs[0], output)
    is_f32 = site.input(0).dtype is DType.F32
    function = _f32_function(site.node.op) if is_f32 else _wide_function(site)
    return applied(site, function, inputs[0], output, f"of {site.node.op.name}")


def _wide_function(site: Site) -> ScalarFunction:
    """Returns the function for 16-bit values, for which a table would be too large."""
    op, x = site.node.op, site.input(0)
    match op:
        case Clamp():
            return _wide_clamp(op, x, site.outputs[0])
        case LeakyRelu():
            return _wide_leaky(op, x, site.outputs[0])
        case Logistic():
            return sigmoid_of(*argument_16(quant_of(x).scale))
        case Tanh():
            return tanh_of(*argument_16(quant_of(x).scale))
    raise AssertionError(f"{op.name} has no function of 16-bit integers")


def _wide_clamp(op: Clamp, x: TensorType, out: TensorType) -> ScalarFunction:
    mult, shift = clamp_multiplier(x, out)
    zero, (low, high) = quant_of(out).zero_point, integer_clamp(op.activation, out)
    centred = f"a - {parenthesised(quant_of(x).zero_point)}" if quant_of(x).zero_point else "a"
    text = (
        f"({out.dtype.c_name})clamp(times({centred}, {mult}, {shift}) + {parenthesised(zero)}, {low}, {high})"
    )

    def compute(value: int) -> int:
        return int(op.reference([np.asarray([value], np.int16)], (x,), (out,))[0][0])

    name = mangle(f"{op.activation.value}_{out.dtype.value}", text)
    return expression_function(name, out.dtype, (DType.I32,), text, compute, calls=(TIMES, CLAMP))


def _wide_leaky(op: LeakyRelu, x: TensorType, out: TensorType) -> ScalarFunction:
    zero, zero_point, (low, high) = quant_of(x).zero_point, quant_of(out).zero_point, out.dtype.limits
    (above, above_shift), (below, below_shift) = op.multipliers(x, out)
    centred = f"(a - {parenthesised(zero)})" if zero else "a"
    factor = f"{centred} < 0 ? {below} : {above}, {centred} < 0 ? {below_shift} : {above_shift}"
    turned = f"({centred} < 0 ? -1 : 1) * " if op.alpha < 0 else ""
    scaled = f"{turned}times({centred}, {factor})"
    text = f"({out.dtype.c_name})clamp({scaled} + {parenthesised(zero_point)}, {low}, {high})"

    def compute(value: int) -> int:
        return int(op.reference([np.asarray([value], np.int16)], (x,), (out,))[0][0])

    name = mangle(f"leaky_{out.dtype.value}", text)
    return expression_function(name, out.dtype, (DType.I32,), text, compute, calls=(TIMES, CLAMP))


def _f32_function(op: Op) -> ScalarFunction:
    match op:
        case Clamp(activation):
            return clamp_f32(activation)
        case LeakyRelu(alpha, _):
            slope = float(np.float32(alpha))
            name = "real_leaky_" + "".join(c if c.isalnum() else "_" for c in literal(slope))
            return f32_function(
                name, f"v > 0.0f ? v : v * {literal(slope)}", lambda v: v if v > 0 else v * slope
            )
        case Logistic():
            return LOGISTIC
        case Tanh():
            return TANH
        case HardSwish():
            clamped = "(v < -3.0f ? 0.0f : v > 3.0f ? 6.0f : v + 3.0f)"
            return f32_function(
                "real_hard_swish", f"v * {clamped} / 6.0f", lambda v: v * min(max(v + 3, 0), 6) / 6
            )
    raise AssertionError(f"{op.name} has no function of floats")


def _logistic(v: float) -> float:
    return 1 / (1 + math.exp(-max(v, -700.0)))


LOGISTIC = f32_function("real_logistic", "1.0f / (1.0f + expf(-v))", _logistic, ("math.h",))
TANH = f32_function("real_tanh", "tanhf(v)", math.tanh, ("math.h",))


_KERNEL = OpKernel((Strategy("plain", requests_anything, _lower),), frozenset({DType.I8, DType.F32}))
_WIDE = OpKernel((Strategy("plain", requests_anything, _lower),), frozenset({DType.I8, DType.I16, DType.F32}))
KERNELS: Mapping[str, OpKernel] = {
    HardSwish.name: _KERNEL,
    **{op.name: _WIDE for op in (Clamp, LeakyRelu, Logistic, Tanh)},
}
