"""convert: a cast. Floats are clamped before conversion to integers, because overflow is undefined in C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from aot.ir.types import DType, TensorType
from aot.ops.convert import Convert, real_limits
from codegen.formats import RowFormat
from codegen.isa.plain.f32 import literal
from codegen.isa.plain.scalar_math import expression_function
from codegen.kernels.elements import applying, element_kernel, element_requests, goes_by_rows
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.ir import ScalarFunction
from codegen.loops.schedule import unroll_by

_AT_ONCE = 4  # numbers per iteration; as fast as one conversion


def _op(site: Site) -> Convert:
    return site.op_as(Convert)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    return convert_kernel(site, inputs, output, conversion(site))


def convert_kernel(
    site: Site, inputs: Sequence[RowFormat], output: RowFormat, function: ScalarFunction
) -> Kernel:
    """Returns a kernel that applies the function to every element."""
    kernel = element_kernel(site, inputs, output, applying(function), f"a conversion to {_op(site).to.value}")
    if not goes_by_rows(site):
        return kernel
    inner = "column" if output.channels == 1 else "c"
    return replace(kernel, proc=unroll_by(kernel.proc, inner, _AT_ONCE))


def conversion(site: Site) -> ScalarFunction:
    """f(element) -> the element of the other type, in portable C."""
    op, source = _op(site), site.input(0).dtype
    to, meaning = op.to, _meaning(source, op)
    if op.of_bits:
        text = f"((union {{ {source.c_name} from; {to.c_name} to; }}){{a}}).to"
        return expression_function(f"{to.value}_by_bits_of_{source.value}", to, (source,), text, meaning)
    return expression_function(f"{to.value}_of_{source.value}", to, (source,), _text(source, to), meaning)


def _text(source: DType, to: DType) -> str:
    if to is DType.BOOL:
        return "a != 0"
    if source is not DType.F32 or to is DType.F32:
        return f"({to.c_name})a"
    low, high = real_limits(to)
    least, most = f"({to.c_name}){literal(low)}", f"{to.c_name.removesuffix('_t').upper()}_MAX"
    # NaN compares as false and becomes 0.
    inside = f"a > {literal(low)} ? ({to.c_name})a : a <= {literal(low)} ? {least} : 0"
    return f"a > {literal(high)} ? {most} : {inside}"


def _meaning(source: DType, op: Convert) -> Callable[[Any], Any]:
    x, y = TensorType(source, (1,)), TensorType(op.to, (1,))

    def compute(value: Any) -> Any:
        return op.reference([np.asarray([value], source.numpy)], (x,), (y,))[0][0].item()

    return compute


KERNEL = OpKernel((Strategy("plain", element_requests, _lower),), frozenset(DType))
