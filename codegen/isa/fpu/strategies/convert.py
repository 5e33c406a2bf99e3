"""Converts floats to integers with the FPU's saturating instruction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aot.ir.types import DType
from aot.ops.convert import Convert
from codegen.formats import RowFormat
from codegen.isa.fpu.needs import NEEDS
from codegen.kernels.convert import conversion, convert_kernel
from codegen.kernels.elements import element_requests
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.strategy import Condition, Strategy
from codegen.loops.ir import ScalarFunction


def truncation(name: str, compute: Callable[[Any], Any]) -> ScalarFunction:
    """f(a) -> an int32_t. VCVT saturates and converts NaN to 0, which saves comparisons."""
    definition = f"""\
/* a without what is behind the point, the nearest that there is; 0 where a is not a number. */
static inline int32_t {name}(float a)
{{
    int32_t whole;
    __asm__("vcvt.s32.f32 %0, %1" : "=t"(whole) : "t"(a));
    return whole;
}}
"""
    return ScalarFunction(name, DType.I32, definition, compute, needs=NEEDS)


def _is_truncation(site: Site) -> bool:
    op = site.op_as(Convert)
    return (site.input(0).dtype, op.to, op.of_bits) == (DType.F32, DType.I32, False)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    function = conversion(site)
    return convert_kernel(site, inputs, output, truncation(function.name, function.compute))


STRATEGY = Strategy(
    "fpu", element_requests, _lower, NEEDS, (Condition("floats to 32-bit integers", _is_truncation),)
)
