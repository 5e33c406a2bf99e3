"""compare: one boolean for two elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aot.ir.types import DType
from aot.ops.binary_rescale import compare_parameters
from aot.ops.compare import HOLDS, Compare, Relation, is_rescaled
from aot.ops.requant import quant_of
from codegen.isa.plain.binary_rescale import comparison_function
from codegen.isa.plain.scalar_math import expression_function
from codegen.kernels.elements import element_op
from codegen.kernels.kernel import Site
from codegen.loops.ir import ScalarFunction

_SIGNS = {
    Relation.EQUAL: "==",
    Relation.NOT_EQUAL: "!=",
    Relation.LESS: "<",
    Relation.LESS_EQUAL: "<=",
    Relation.GREATER: ">",
    Relation.GREATER_EQUAL: ">=",
}


def _function(site: Site) -> ScalarFunction:
    op, first, second = site.op_as(Compare), site.input(0), site.input(1)
    sign, holds = _SIGNS[op.relation], _holds(HOLDS[op.relation])
    if is_rescaled(site.inputs):
        zero_points = quant_of(first).zero_point, quant_of(second).zero_point
        return comparison_function(sign, holds, compare_parameters(first, second), zero_points)
    name = f"is_{op.relation.value}_{first.dtype.value}"
    return expression_function(name, DType.BOOL, (first.dtype,) * 2, f"a {sign} b", holds)


def _holds(relation: Callable[..., Any]) -> Callable[[Any, Any], bool]:
    return lambda a, b: bool(relation(a, b))


KERNEL = element_op(_function, lambda site: "a comparison")
