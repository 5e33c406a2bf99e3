"""add, sub, mul and other binary ops. A broadcast operand is read repeatedly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aot.ir.types import Array, DType
from aot.ops.activation import Activation, integer_clamp, plain_clamp
from aot.ops.binary import Add, BinaryOp, Mul, Prelu, Sub
from aot.ops.binary_rescale import (
    add_parameters,
    div_multiplier,
    mul_multiplier,
    prelu_multipliers,
    rescaled,
    square_parameters,
)
from aot.ops.requant import quant_of
from aot.ops.rounding import PARITY, RequantRounding
from codegen.formats import RowFormat
from codegen.isa.plain.arithmetic import StoredResult, ZeroPoints, prelu_int8, product_int8, sum_int8
from codegen.isa.plain.binary_rescale import (
    prelu_function,
    product_function,
    quotient_function,
    square_function,
    sum_function,
)
from codegen.isa.plain.f32 import clamp_f32
from codegen.isa.plain.scalar_math import expression_function, unsigned, wrapped
from codegen.kernels.elements import Prepared, as_stored, element_kernel, element_requests
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.lookup import lookup_kernel, site_table
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.ir import Apply, Expr, Load, ScalarFunction

Function = Callable[[Site, ZeroPoints], ScalarFunction]


@dataclass(frozen=True)
class _Arithmetic:
    """A way to combine operands."""

    what: str
    function: Function  # of quantized integers
    f32: Callable[[Expr, Expr], Expr]
    plain: tuple[str, Callable[[int, int], int]]  # C code of a and b in an unsigned type U, and its meaning
    prepared: Prepared | None = None  # a constant int8 operand, as the function expects it


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat, arithmetic: _Arithmetic) -> Kernel:
    table = site_table(site)
    if table is not None and len(inputs) == 1 and element_requests(site) == (None,):
        return lookup_kernel(site, table, inputs[0], output)
    prepared = arithmetic.prepared if is_int8(site) else None

    def result(values: Sequence[Load]) -> Expr:
        return _result_of(site, arithmetic, values, prepared is not None)

    return element_kernel(site, inputs, output, result, f"a {arithmetic.what}", prepared or as_stored)


def is_int8(site: Site) -> bool:
    return site.outputs[0].dtype is DType.I8 and site.outputs[0].quant is not None


def _result_of(site: Site, arithmetic: _Arithmetic, values: Sequence[Load], as_prepared: bool) -> Expr:
    op, (out,) = site.op_as(BinaryOp), site.outputs
    if out.quant is not None:
        function = arithmetic.function(site, _zero_points(site, as_prepared))
        return Apply(function, tuple(values))
    if out.dtype is DType.F32:
        result = arithmetic.f32(*values)
        return result if op.activation is Activation.NONE else Apply(clamp_f32(op.activation), (result,))
    return Apply(_plain_function(op, out.dtype, arithmetic, plain_clamp(op.activation, out)), tuple(values))


def _plain_function(
    op: BinaryOp, dtype: DType, arithmetic: _Arithmetic, limits: tuple[int, int]
) -> ScalarFunction:
    """Returns the function for unscaled integers: they wrap, and are clamped if there is an activation."""
    text, compute = arithmetic.plain
    low, high = limits
    value = text.format(U=unsigned(dtype), T=dtype.c_name)
    clamped = f"clamp_{dtype.value}" if limits != dtype.limits else ""
    if clamped:
        value = f"({value}) < {low} ? {low} : ({value}) > {high} ? {high} : ({value})"

    def meaning(a: int, b: int) -> int:
        return min(max(wrapped(compute(a, b), dtype), low), high)

    suffix = f"_{op.activation.value}" if clamped else ""
    return expression_function(
        f"{op.name}_{dtype.value}{suffix}", dtype, (dtype, dtype), f"({dtype.c_name})({value})", meaning
    )


def _zero_points(site: Site, as_prepared: bool) -> ZeroPoints:
    """Returns what the function subtracts from each operand: nothing from prepared constants."""
    first, second = (
        None if as_prepared and i in site.constants else quant_of(site.input(i)).zero_point for i in range(2)
    )
    return first, second


def _given(zero_points: ZeroPoints) -> tuple[int, int]:
    first, second = zero_points
    assert first is not None, "only int8 constants are prepared"
    assert second is not None, "only int8 constants are prepared"
    return first, second


def result_of(site: Site) -> StoredResult:
    op, (out,) = site.op_as(BinaryOp), site.outputs
    return StoredResult(quant_of(out).zero_point, *integer_clamp(op.activation, out), site.math)


def sum_of(sign: str) -> Function:
    def function(site: Site, zero_points: ZeroPoints) -> ScalarFunction:
        parameters = add_parameters(site.input(0), site.input(1), site.outputs[0])
        if is_int8(site):
            return sum_int8(sign, parameters, zero_points, result_of(site), rounding_of_sum(site))
        dtype, rounding = site.outputs[0].dtype, rounding_of_sum(site)
        return sum_function(sign, parameters, _given(zero_points), result_of(site), dtype, rounding)

    return function


def rounding_of_sum(site: Site) -> RequantRounding:
    op = site.node.op
    return op.rounding if isinstance(op, Add | Sub) else RequantRounding.DOUBLE


def _term(site: Site, position: int) -> Array:
    """Returns a constant operand of a sum, at the scale of the sum."""
    p = add_parameters(site.input(0), site.input(1), site.outputs[0])
    multiplier = (p.first, p.second)[position]
    scaled = rescaled(site.constants[position], site.input(position), multiplier, p.left_shift)
    return scaled.astype(np.int32)


def _product(site: Site, zero_points: ZeroPoints) -> ScalarFunction:
    op = site.op_as(Mul)
    multiplier = mul_multiplier(site.input(0), site.input(1), site.outputs[0], op.scales_in_single)
    if is_int8(site) and (op.rounding in PARITY or op.rounding is RequantRounding.DOUBLE):
        return product_int8(multiplier, zero_points, result_of(site), op.rounding)
    return product_function(multiplier, zero_points, result_of(site), site.outputs[0].dtype, op.rounding)


def _factor(site: Site, position: int) -> Array:
    """Returns a constant operand of a product, minus its zero point."""
    zero_point = quant_of(site.input(position)).zero_point
    return np.asarray(site.constants[position].astype(np.int16) - zero_point, np.int16)


def _quotient(site: Site, zero_points: ZeroPoints) -> ScalarFunction:
    multiplier = div_multiplier(site.input(0), site.input(1), site.outputs[0])
    return quotient_function(multiplier, _given(zero_points), result_of(site), site.outputs[0].dtype)


def _prelu(site: Site, zero_points: ZeroPoints) -> ScalarFunction:
    op, out = site.op_as(Prelu), site.outputs[0]
    branches = prelu_multipliers(site.input(0), site.input(1), out, op.scales_in_single)
    if is_int8(site):
        return prelu_int8(branches, _given(zero_points), result_of(site))
    return prelu_function(branches, _given(zero_points), result_of(site), out.dtype)


def _square(site: Site, zero_points: ZeroPoints) -> ScalarFunction:
    p = square_parameters(site.input(0), site.input(1), site.outputs[0])
    return square_function(p, _given(zero_points), result_of(site), site.outputs[0].dtype)


def _f32(name: str, expression: str, compute: Callable[[Any, Any], Any]) -> Callable[[Expr, Expr], Expr]:
    function = expression_function(name, DType.F32, (DType.F32, DType.F32), expression, compute)
    return lambda a, b: Apply(function, (a, b))


def _f32_quotient(a: float, b: float) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.float32(a) / np.float32(b))


def _truncated(a: int, b: int) -> int:
    return 0 if b == 0 else abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)


def _sloped(a: Any, b: Any) -> Any:
    return a if a >= 0 else a * b


def _op_kernel(arithmetic: _Arithmetic) -> OpKernel:
    def lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
        return _lower(site, inputs, output, arithmetic)

    return OpKernel((Strategy("plain", element_requests, lower),), frozenset(DType) - {DType.U8, DType.BOOL})


KERNELS: Mapping[str, OpKernel] = {
    "add": _op_kernel(
        _Arithmetic(
            what="sum",
            function=sum_of("+"),
            f32=lambda a, b: a + b,
            plain=("({T})(({U})a + ({U})b)", lambda a, b: a + b),
            prepared=_term,
        )
    ),
    "div": _op_kernel(
        _Arithmetic(
            what="quotient",
            function=_quotient,
            f32=_f32("real_quotient", "a / b", _f32_quotient),
            plain=("b == 0 ? 0 : b == -1 ? ({T})(0u - ({U})a) : ({T})(a / b)", _truncated),
        )
    ),
    "mul": _op_kernel(
        _Arithmetic(
            what="product",
            function=_product,
            f32=lambda a, b: a * b,
            plain=("({T})(({U})a * ({U})b)", lambda a, b: a * b),
            prepared=_factor,
        )
    ),
    "prelu": _op_kernel(
        _Arithmetic(
            what="parametric relu",
            function=_prelu,
            f32=_f32("real_prelu", "a >= 0.0f ? a : a * b", _sloped),
            plain=("a >= 0 ? a : ({T})(({U})a * ({U})b)", _sloped),
        )
    ),
    "squared_difference": _op_kernel(
        _Arithmetic(
            what="squared difference",
            function=_square,
            f32=_f32("real_squared_difference", "(a - b) * (a - b)", lambda a, b: (a - b) ** 2),
            plain=("({T})((({U})a - ({U})b) * (({U})a - ({U})b))", lambda a, b: (a - b) ** 2),
        )
    ),
    "sub": _op_kernel(
        _Arithmetic(
            what="difference",
            function=sum_of("-"),
            f32=lambda a, b: a - b,
            plain=("({T})(({U})a - ({U})b)", lambda a, b: a - b),
            prepared=_term,
        )
    ),
}
