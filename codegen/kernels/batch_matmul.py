"""batch_matmul: one pair of matrices, both of them rows of images; or one of them constant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aot.ir.graph import Array
from aot.ir.types import DType
from aot.ops.activation import Activation, integer_clamp
from aot.ops.batch_matmul import BatchMatmul, product_requant
from aot.ops.requant import quant_of, reduced_multiplier
from aot.ops.rounding import RequantRounding
from codegen.formats import Want, storage_dtype
from codegen.instr.requantise import Requant, to_int8
from codegen.kernels.kernel import Kernel, OpKernel, RowAccess, Site
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Binary,
    Buffer,
    Const,
    Declare,
    Expr,
    For,
    Proc,
    Role,
    Store,
    at,
    load,
)
from codegen.model import RowFormat


@dataclass(frozen=True)
class _Operand:
    """A matrix as the nest reads it: a row of a tensor, or constant."""

    buffer: Buffer
    value: Expr  # counted from the zero point
    access: RowAccess | None = None
    data: Array | None = None
    per_row: int = 0  # elements of a matrix, where each firing has its own


def _op(site: Site) -> BatchMatmul:
    assert isinstance(site.node.op, BatchMatmul)
    return site.node.op


def _wants(site: Site) -> tuple[Want | None, ...]:
    return (None,) * sum(i not in site.constants for i in range(2))


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op, y = _op(site), output
    (_, rows, depth), (_, _, columns) = op.sizes(site.input(0)), op.sizes_of_second(site.input(1))
    m, n, k = variable("m"), variable("n"), variable("k")
    formats = iter(inputs)
    places = ((k, m) if op.x_transposed else (m, k), (n, k) if op.y_transposed else (k, n))
    first, second = (
        _constant(site, i, *place) if i in site.constants else _rows(site, i, next(formats), *place)
        for i, place in enumerate(places)
    )
    ys = Buffer("y", storage_dtype(site.outputs[0], y), y.row_elements, Role.OUTPUT)
    total = Buffer("sum", _sum_dtype(site), 1, Role.LOCAL)
    body = (
        Declare(total),
        Store(at(total), Const(0.0 if total.dtype is DType.F32 else 0)),
        For("k", depth, (Accumulate(at(total), Binary("*", first.value, second.value)),)),
        Store(at(ys, (m + y.left) * y.x_step + n * y.c_step), _stored(site, load(total))),
    )
    operands = (first, second)
    proc = Proc(
        f"matmul_{rows}x{depth}_by_{columns}",
        (*(o.buffer for o in operands), ys),
        (For("m", rows, (For("n", columns, body),)),),
    )
    return Kernel(
        schedule="plain",
        why="one result at a time",
        proc=proc,
        summary=f"A product of matrices: {rows}x{depth} by {depth}x{columns}.",
        access=tuple(o.access for o in operands if o.access is not None),
        constants={o.buffer.name: o.data for o in operands if o.data is not None},
        row_tables={o.buffer.name: o.per_row for o in operands if o.per_row},
    )


_NAMES = "ab"


def _rows(site: Site, position: int, x: RowFormat, row: Affine, column: Affine) -> _Operand:
    buffer = Buffer(_NAMES[position], storage_dtype(site.input(position), x), x.row_elements, Role.ROWS)
    element = (row + x.left) * x.x_step + column * x.c_step
    same_rows = site.input(position).shape[1] == site.outputs[0].shape[1]
    access = RowAccess(stride=int(same_rows), first=0, count=1)
    return _Operand(buffer, _centred(site, position, load(buffer, element)), access)


def _constant(site: Site, position: int, row: Affine, column: Affine) -> _Operand:
    tensor, data = site.input(position), site.constants[position]
    _, pairs, height, width = tensor.shape
    buffer = Buffer(_NAMES[position], tensor.dtype, height * width, Role.CONSTANT)
    value = _centred(site, position, load(buffer, row * width + column))
    return _Operand(buffer, value, None, data.reshape(-1), height * width if pairs > 1 else 0)


def _centred(site: Site, position: int, value: Expr) -> Expr:
    quant = site.input(position).quant
    zero = 0 if quant is None else quant.zero_point
    return Binary("-", value, Const(zero)) if zero else value


def _sum_dtype(site: Site) -> DType:
    if site.outputs[0].dtype is DType.F32:
        return DType.F32
    return DType.I64 if _op(site).rounding is RequantRounding.REDUCED else DType.I32


def _stored(site: Site, total: Expr) -> Expr:
    out = site.outputs[0]
    if out.dtype is DType.F32:
        return total
    (mult,), (shift,) = (m.tolist() for m in product_requant(site.input(0), site.input(1), out))
    low, high = integer_clamp(Activation.NONE, out)
    requant = Requant(
        zero_point=quant_of(out).zero_point,
        low=low,
        high=high,
        rounding=_op(site).rounding,
        rights=(-shift, -shift),
        sum_fits_30_bits=False,
        dtype=out.dtype,
        sum_dtype=_sum_dtype(site),
    )
    if requant.rounding is RequantRounding.REDUCED:
        mult = int(reduced_multiplier(np.int64(mult)))
    return Apply(to_int8(requant, dsp=False).store, (total, Const(mult), Const(-shift)))


KERNEL = OpKernel(wants=_wants, lower=_lower, dtypes=frozenset({DType.I8, DType.I16, DType.F32}))
