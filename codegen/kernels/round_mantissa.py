"""round_mantissa: scales so that the last kept bit is 1, rounds, and scales back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aot.ir.types import DType, TensorType
from aot.ops.round_mantissa import RoundMantissa
from codegen.isa.names import mangle
from codegen.isa.plain.f32 import literal
from codegen.kernels.elements import element_op
from codegen.kernels.kernel import Site
from codegen.loops.ir import ScalarFunction


def _function(site: Site) -> ScalarFunction:
    op = site.op_as(RoundMantissa)
    name = mangle("round_mantissa", op)
    definition = f"""\
/* a with {op.mantissa_bits} bits after its first, none less than 2^{op.least_exponent - op.mantissa_bits}. */
static inline float {name}(float a)
{{
    int exponent = 0;
    int step;
    float near;
    if (a != a) {{
        return {"a" if op.has_nan else "0.0f"};
    }}
    (void)frexpf(a, &exponent);
    step = (exponent > {op.least_exponent} ? exponent - 1 : {op.least_exponent}) - {op.mantissa_bits};
    near = ldexpf(rintf(ldexpf(a, -step)), step);
    return fabsf(near) > {literal(op.largest)} ? copysignf({literal(op.outside)}, a) : near;
}}
"""
    return ScalarFunction(name, DType.F32, definition, _meaning(op), ("math.h",))


def _meaning(op: RoundMantissa) -> Callable[[Any], Any]:
    def compute(value: Any) -> Any:
        one = TensorType(DType.F32, (1,))
        return op.reference([np.asarray([value], np.float32)], (one,), (one,))[0][0].item()

    return compute


def _what(site: Site) -> str:
    return f"numbers of {site.op_as(RoundMantissa).mantissa_bits + 1} bits"


KERNEL = element_op(_function, _what, frozenset({DType.F32}))
