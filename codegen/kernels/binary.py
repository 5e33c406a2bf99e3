"""add, sub, mul: one row out of two, pixel by pixel; an operand that is repeated is read again and again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aot.ir.graph import Array
from aot.ir.types import DType
from aot.ops.activation import Activation, integer_clamp
from aot.ops.binary import Binary, add_parameters, mul_multiplier, rescaled
from aot.ops.requant import quant_of
from codegen.formats import Want, geometry, storage_dtype
from codegen.instr.arithmetic import Result, ZeroPoint, product_int8, sum_int8
from codegen.instr.instruction import Function, Instruction
from codegen.instr.mve_sum import sum_row
from codegen.instr.real import clamp_real
from codegen.kernels.kernel import Kernel, OpKernel, RowAccess, Site
from codegen.kernels.lookup import lookup_kernel, site_table
from codegen.kernels.pixels import every_pixel, pixel_element
from codegen.loops.affine import variable
from codegen.loops.ir import Apply, Buffer, Expr, Load, Proc, Role, Store, at, load
from codegen.loops.ir import Binary as BinaryExpr
from codegen.loops.schedule import fuse
from codegen.loops.tensorize import tensorize
from codegen.model import RowFormat

_NAMES = "ab"


@dataclass(frozen=True)
class _Operand:
    """An operand as the nest reads it: rows of a tensor, or a constant in as few elements as it has."""

    buffer: Buffer
    value: Load
    access: RowAccess | None = None
    data: Array | None = None
    per_row: int = 0  # elements for each row, where rows of the constant differ


@dataclass(frozen=True)
class _Arithmetic:
    """How an op combines: the function, and what a constant operand becomes before it is stored."""

    function: Callable[[Site, tuple[ZeroPoint, ZeroPoint]], Function]
    prepared: Callable[[Site, int], Array]
    sign: str
    what: str
    sum_of_rows: Callable[[Site, int], Instruction] | None = None  # of that many elements, in vectors


def _wants(site: Site) -> tuple[Want | None, ...]:
    return (None,) * sum(i not in site.constants for i in range(2))


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat, arithmetic: _Arithmetic) -> Kernel:
    table = site_table(site)
    if table is not None:
        return lookup_kernel(site, table, inputs[0], output)
    operands = _operands(site, inputs, output, arithmetic)
    y = Buffer("y", storage_dtype(site.outputs[0], output), output.row_elements, Role.OUTPUT)
    result = _result_of(site, arithmetic, [o.value for o in operands])
    loops = every_pixel(output, Store(at(y, pixel_element(output)), result))
    name = f"{site.node.op.name}_{output.channels}_by_{output.width}"
    proc = Proc(name, (*(o.buffer for o in operands), y), (loops,))
    schedule, why = "plain", "one at a time"
    if arithmetic.sum_of_rows is not None and _goes_as_vectors(site, (*inputs, output)):
        row = arithmetic.sum_of_rows(site, output.width * output.channels)
        proc = tensorize(fuse(proc, "column", "c", "i"), "i", [row])
        schedule, why = "helium", "8 at a time"
    return Kernel(
        schedule=schedule,
        why=why,
        proc=proc,
        summary=f"One row of a {arithmetic.what}: {output.width} pixels of {output.channels} channels.",
        access=tuple(o.access for o in operands if o.access is not None),
        constants={o.buffer.name: o.data for o in operands if o.data is not None},
        row_tables={o.buffer.name: o.per_row for o in operands if o.per_row},
    )


def _goes_as_vectors(site: Site, formats: Sequence[RowFormat]) -> bool:
    """Two rows of bytes and their sum, all pixel after pixel without a gap."""
    first = formats[0]
    return (
        site.mve
        and site.outputs[0].dtype is DType.I8
        and len(formats) == 3
        and all(f.c_step == 1 and f.x_step == f.channels for f in formats)
        and all((f.width, f.channels) == (first.width, first.channels) for f in formats)
    )


def _result_of(site: Site, arithmetic: _Arithmetic, values: Sequence[Load]) -> Expr:
    op = site.node.op
    assert isinstance(op, Binary)
    if site.outputs[0].dtype is DType.I8:
        return Apply(arithmetic.function(site, _zero_points(site)), tuple(values))
    real = BinaryExpr(arithmetic.sign, *values)
    return real if op.activation is Activation.NONE else Apply(clamp_real(op.activation), (real,))


def _operands(
    site: Site, inputs: Sequence[RowFormat], output: RowFormat, arithmetic: _Arithmetic
) -> tuple[_Operand, ...]:
    formats = iter(inputs)
    return tuple(
        _constant(name, _prepared(site, i, arithmetic), site)
        if i in site.constants
        else _rows(name, site, i, next(formats), output)
        for i, name in enumerate(_NAMES)
    )


def _rows(name: str, site: Site, position: int, x: RowFormat, y: RowFormat) -> _Operand:
    buffer = Buffer(name, storage_dtype(site.input(position), x), x.row_elements, Role.ROWS)
    column = variable("column") * int(x.width == y.width) + x.left
    channel = variable("c") * int(x.channels == y.channels)
    same_rows = geometry(site.input(position)).rows == geometry(site.outputs[0]).rows
    access = RowAccess(stride=int(same_rows), first=0, count=1)
    return _Operand(buffer, load(buffer, column * x.x_step + channel * x.c_step), access)


def _constant(name: str, data: Array, site: Site) -> _Operand:
    """Repeated rows, columns and channels are stored once."""
    g = geometry(site.outputs[0])
    whole = np.broadcast_to(data, site.outputs[0].shape).reshape(g.rows, g.width, g.channels)
    for axis in range(3):
        first = whole.take([0], axis)
        whole = first if (whole == first).all() else whole
    rows, width, channels = whole.shape
    dtype = DType.I32 if whole.dtype == np.int32 else DType.F32
    buffer = Buffer(name, dtype, whole.size, Role.CONSTANT)
    place = variable("column") * (channels if width > 1 else 0) + variable("c") * int(channels > 1)
    per_row = width * channels if rows > 1 else 0
    return _Operand(buffer, load(buffer, place), data=whole.reshape(-1), per_row=per_row)


def _prepared(site: Site, position: int, arithmetic: _Arithmetic) -> Array:
    is_real = site.input(position).dtype is DType.F32
    return site.constants[position] if is_real else arithmetic.prepared(site, position)


def _zero_points(site: Site) -> tuple[ZeroPoint, ZeroPoint]:
    first, second = (None if i in site.constants else quant_of(site.input(i)).zero_point for i in range(2))
    return first, second


def _result(site: Site) -> Result:
    op, (out,) = site.node.op, site.outputs
    assert isinstance(op, Binary)
    return Result(quant_of(out).zero_point, *integer_clamp(op.activation, out))


def _sum(sign: str) -> Callable[[Site, tuple[ZeroPoint, ZeroPoint]], Function]:
    def function(site: Site, zero_points: tuple[ZeroPoint, ZeroPoint]) -> Function:
        parameters = add_parameters(site.input(0), site.input(1), site.outputs[0])
        return sum_int8(sign, parameters, zero_points, _result(site), site.dsp)

    return function


def _sum_of_rows(sign: str) -> Callable[[Site, int], Instruction]:
    def instruction(site: Site, count: int) -> Instruction:
        p = add_parameters(site.input(0), site.input(1), site.outputs[0])
        first, second = (quant_of(site.input(i)).zero_point for i in range(2))
        scalar = _sum(sign)(site, (first, second))
        return sum_row(sign, count, p, (first, second), _result(site), scalar)

    return instruction


def _term(site: Site, position: int) -> Array:
    """A constant operand of a sum, at the scale of the sum."""
    p = add_parameters(site.input(0), site.input(1), site.outputs[0])
    multiplier = (p.first, p.second)[position]
    return rescaled(site.constants[position], site.input(position), multiplier).astype(np.int32)


def _product(site: Site, zero_points: tuple[ZeroPoint, ZeroPoint]) -> Function:
    multiplier = mul_multiplier(site.input(0), site.input(1), site.outputs[0])
    return product_int8(multiplier, zero_points, _result(site), site.dsp)


def _factor(site: Site, position: int) -> Array:
    """A constant operand of a product, counted from its zero point."""
    zero_point = quant_of(site.input(position)).zero_point
    return np.asarray(site.constants[position].astype(np.int32) - zero_point, np.int32)


def _op_kernel(arithmetic: _Arithmetic) -> OpKernel:
    def lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
        return _lower(site, inputs, output, arithmetic)

    return OpKernel(wants=_wants, lower=lower, dtypes=frozenset({DType.I8, DType.F32}))


KERNELS: Mapping[str, OpKernel] = {
    "add": _op_kernel(_Arithmetic(_sum("+"), _term, "+", "sum", _sum_of_rows("+"))),
    "mul": _op_kernel(_Arithmetic(_product, _factor, "*", "product")),
    "sub": _op_kernel(_Arithmetic(_sum("-"), _term, "-", "difference", _sum_of_rows("-"))),
}
