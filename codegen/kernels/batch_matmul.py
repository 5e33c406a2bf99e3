"""batch_matmul: products of pairs of matrices, stored as image rows; one factor may be constant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aot.ir.types import Array, DType
from aot.ops.activation import Activation, integer_clamp
from aot.ops.batch_matmul import BatchMatmul, product_requant
from aot.ops.requant import quant_of, reduced_multiplier
from aot.ops.rounding import RequantRounding
from codegen.formats import RowFormat, RowRequest, storage_dtype
from codegen.isa.plain.requantise import Requant, store_quantised
from codegen.kernels.kernel import Kernel, RowAccess, Site
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Buffer,
    Const,
    Expr,
    For,
    Proc,
    Role,
    Stmt,
    Store,
    at,
    let,
    load,
    local,
)
from codegen.loops.schedule import privatize, reorder, split, unroll


@dataclass(frozen=True)
class _Factor:
    """A matrix as the nest reads it: a row of a tensor, or a constant."""

    buffer: Buffer
    value: Expr  # in its stored type
    zero_point: int
    access: RowAccess | None = None
    data: Array | None = None
    per_row: int = 0  # elements of a matrix, if each step has a separate one


def _op(site: Site) -> BatchMatmul:
    return site.op_as(BatchMatmul)


def _requests(site: Site) -> tuple[RowRequest | None, ...]:
    return (None,) * sum(i not in site.constants for i in range(2))


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op, y = _op(site), output
    (_, rows, depth), (_, _, columns) = op.sizes(site.input(0)), op.sizes_of_second(site.input(1))
    m, n, k = variable("m"), variable("n"), variable("k")
    formats = iter(inputs)
    places = ((k, m) if op.x_transposed else (m, k), (n, k) if op.y_transposed else (k, n))
    first, second = operands = [
        _constant(site, i, *place) if i in site.constants else _rows(site, i, next(formats), *place)
        for i, place in enumerate(places)
    ]
    ys = Buffer("y", storage_dtype(site.outputs[0], y), y.row_elements, Role.OUTPUT)
    total = local("sum", _sum_dtype(site))
    line = _line(first, second, total.dtype, depth)
    body = (
        *let(total, line.start),
        For("k", depth, (Accumulate(at(total), _centred(first) * second.value),)),
        Store(at(ys, (m + y.left) * y.x_step + n * y.c_step), _stored(site, load(total))),
    )
    proc = Proc(
        f"matmul_{rows}x{depth}_by_{columns}",
        (*(o.buffer for o in operands), ys),
        (For("m", rows, (*line.sum, For("n", columns, body))),),
    )
    return Kernel(
        strategy="columns",
        why="unscheduled" if site.is_plain else f"{_TOGETHER} results side by side",
        proc=proc if site.is_plain else _tiled(proc),
        summary=f"A product of matrices: {rows}x{depth} by {depth}x{columns}.",
        access=tuple(o.access for o in operands if o.access is not None),
        constants={o.buffer.name: o.data for o in operands if o.data is not None},
        row_tables={o.buffer.name: o.per_row for o in operands if o.per_row},
    )


def _tiled(proc: Proc) -> Proc:
    """Tiles the columns, so that an element of the first matrix is loaded once for several of the second."""
    proc = split(proc, "n", _TOGETHER, "nb", "ni")
    return reorder(unroll(privatize(proc, ("sum",), "ni"), "ni"), "ni", "k")


_NAMES = "ab"
_TOGETHER = 4  # sums in registers


def _rows(site: Site, position: int, x: RowFormat, row: Affine, column: Affine) -> _Factor:
    buffer = Buffer(_NAMES[position], storage_dtype(site.input(position), x), x.row_elements, Role.ROWS)
    element = (row + x.left) * x.x_step + column * x.c_step
    return _Factor(buffer, load(buffer, element), _zero_point(site, position), _access(site, position))


def _access(site: Site, position: int) -> RowAccess:
    """Returns the rows read. A matrix serves several rows of the result if it has fewer."""
    matrices, rows = site.input(position).shape[1], site.outputs[0].shape[1]
    if 1 < matrices < rows:
        return RowAccess(0, 0, 1, given=tuple((row * matrices // rows,) for row in range(rows)))
    return RowAccess(stride=int(matrices == rows), first=0, count=1)


def _constant(site: Site, position: int, row: Affine, column: Affine) -> _Factor:
    tensor, data = site.input(position), site.constants[position]
    _, pairs, height, width = tensor.shape
    buffer = Buffer(_NAMES[position], tensor.dtype, height * width, Role.CONSTANT)
    value, per_row = load(buffer, row * width + column), height * width if pairs > 1 else 0
    return _Factor(buffer, value, _zero_point(site, position), None, data.reshape(-1), per_row)


def _zero_point(site: Site, position: int) -> int:
    quant = site.input(position).quant
    return 0 if quant is None else quant.zero_point


def _centred(operand: _Factor) -> Expr:
    return operand.value - operand.zero_point if operand.zero_point else operand.value


@dataclass(frozen=True)
class _Line:
    """The sum of a row of the first matrix times the second's zero point, to subtract from results."""

    sum: tuple[Stmt, ...]
    start: Expr  # of each result


def _line(first: _Factor, second: _Factor, dtype: DType, depth: int) -> _Line:
    if not second.zero_point:
        return _Line((), Const(0.0 if dtype is DType.F32 else 0))
    line = local("line", dtype)
    total = For("k", depth, (Accumulate(at(line), _centred(first)),))
    return _Line(
        (*let(line, 0), total),
        load(line) * Const(-second.zero_point),
    )


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
    return Apply(store_quantised(requant).store, (total, Const(mult), Const(-shift)))


KERNEL = OpKernel((Strategy("plain", _requests, _lower),), frozenset({DType.I8, DType.I16, DType.F32}))
