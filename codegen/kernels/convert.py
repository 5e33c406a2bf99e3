"""convert: a cast; of reals to integers one that clamps first, because C leaves the rest undefined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from aot.ir.types import DType, TensorType
from aot.ops.convert import Convert, real_limits
from codegen.instr.instruction import Function
from codegen.instr.plain import expression_function
from codegen.instr.real import literal
from codegen.kernels.elements import element_kernel, element_wants
from codegen.kernels.kernel import Kernel, OpKernel, Site
from codegen.loops.ir import Apply, Expr, Load
from codegen.model import RowFormat


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op = site.node.op
    assert isinstance(op, Convert)
    function = _function(site.input(0).dtype, op.to)

    def result(values: Sequence[Load]) -> Expr:
        return Apply(function, tuple(values))

    return element_kernel(site, inputs, output, result, f"a conversion to {op.to.value}")


def _function(source: DType, to: DType) -> Function:
    name = f"{to.value}_of_{source.value}"
    return expression_function(name, to, (source,), _text(source, to), _meaning(source, to))


def _text(source: DType, to: DType) -> str:
    if to is DType.BOOL:
        return "a != 0"
    if source is not DType.F32 or to is DType.F32:
        return f"({to.c_name})a"
    low, high = real_limits(to)
    least, most = (f"({to.c_name}){literal(v)}" for v in (low, high))
    # A number that is none compares as false and becomes 0.
    inside = f"a > {literal(low)} ? ({to.c_name})a : a <= {literal(low)} ? {least} : 0"
    return f"a >= {literal(high)} ? {most} : {inside}"


def _meaning(source: DType, to: DType) -> Callable[[Any], Any]:
    op, x, y = Convert(to), TensorType(source, (1,)), TensorType(to, (1,))

    def compute(value: Any) -> Any:
        return op.reference([np.asarray([value], source.numpy)], (x,), (y,))[0][0].item()

    return compute


KERNELS: Mapping[str, OpKernel] = {
    "convert": OpKernel(wants=element_wants, lower=_lower, dtypes=frozenset(DType))
}
