"""Functions of one element: a table for int8, a C function for real numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from aot.ir.types import DType
from aot.ops.op import Op
from aot.ops.unary import Clamp, HardSwish, LeakyRelu, Logistic, Tanh
from codegen.instr.instruction import Function
from codegen.instr.real import clamp_real, literal, real_function
from codegen.kernels.elementwise import applied, wants_anything
from codegen.kernels.kernel import Kernel, OpKernel, Site
from codegen.kernels.lookup import lookup_kernel, site_table
from codegen.model import RowFormat


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    table = site_table(site)
    if table is not None:
        return lookup_kernel(site, table, inputs[0], output)
    return applied(site, _real_function(site.node.op), inputs[0], output, f"of {site.node.op.name}")


def _real_function(op: Op) -> Function:
    match op:
        case Clamp(activation):
            return clamp_real(activation)
        case LeakyRelu(alpha):
            slope = float(np.float32(alpha))
            name = "real_leaky_" + "".join(c if c.isalnum() else "_" for c in literal(slope))
            return real_function(
                name, f"v > 0.0f ? v : v * {literal(slope)}", lambda v: v if v > 0 else v * slope
            )
        case Logistic():
            return LOGISTIC
        case Tanh():
            return TANH
        case HardSwish():
            clamped = "(v < -3.0f ? 0.0f : v > 3.0f ? 6.0f : v + 3.0f)"
            return real_function(
                "real_hard_swish", f"v * {clamped} / 6.0f", lambda v: v * min(max(v + 3, 0), 6) / 6
            )
    raise AssertionError(f"{op.name} has no function of real numbers")


def _logistic(v: float) -> float:
    return 1 / (1 + math.exp(-max(v, -700.0)))


LOGISTIC = real_function("real_logistic", "1.0f / (1.0f + expf(-v))", _logistic, includes=("math.h",))
TANH = real_function("real_tanh", "tanhf(v)", math.tanh, includes=("math.h",))


_KERNEL = OpKernel(wants=wants_anything, lower=_lower, dtypes=frozenset({DType.I8, DType.F32}))
KERNELS: Mapping[str, OpKernel] = {op.name: _KERNEL for op in (Clamp, HardSwish, LeakyRelu, Logistic, Tanh)}
