"""gather: elements at computed indices; for constant rows or columns of images, row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from aot.ir.types import Array, DType, dense_strides
from aot.ops.gather import Gather
from codegen.formats import RowFormat, RowRequest, storage_dtype
from codegen.kernels.kernel import Kernel, RowAccess, Site
from codegen.kernels.row_nests import (
    StridedNest,
    every_pixel,
    flat_kernel,
    flat_requests,
    operand,
    pixel_element,
    result,
    within,
)
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Buffer,
    Cast,
    Const,
    Element,
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
from codegen.loops.schedule import unroll_by

_WORDS = 8  # moved per iteration
_ROWS, _COLUMNS = 1, 2
_IN_ROWS = (DType.I8, DType.I16, DType.F32)


def _op(site: Site) -> Gather:
    return site.op_as(Gather)


def _goes_by_rows(site: Site) -> bool:
    """Returns True if constant rows or columns of an image are gathered."""
    op, x = _op(site), site.input(0)
    is_image = x.rank == 4 and x.shape[0] == 1 and x.dtype in _IN_ROWS
    return is_image and 1 in site.constants and site.input(1).rank == 1 and op.axis in (_ROWS, _COLUMNS)


def _requests(site: Site) -> tuple[RowRequest | None, ...]:
    return (
        (RowRequest(dtype_bytes=site.input(0).dtype.bytes),) if _goes_by_rows(site) else flat_requests(site)
    )


def _known(site: Site) -> Array:
    """Returns the constant indices, clamped to the valid range."""
    size = site.input(0).shape[_op(site).axis]
    return np.clip(site.constants[1].reshape(-1), 0, size - 1).astype(np.int32)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    if not _goes_by_rows(site):
        return _flat(site)
    (x,), y, known, column = inputs, output, _known(site), variable("column")
    xs = Buffer("x", storage_dtype(site.input(0), x), x.row_elements, Role.ROWS)
    ys = Buffer("y", storage_dtype(site.outputs[0], y), y.row_elements, Role.OUTPUT)
    picks = Buffer("columns", DType.I32, known.size, Role.CONSTANT)
    are_rows = _op(site).axis == _ROWS
    first = at(xs, variable("c") * x.c_step + x.left * x.x_step)
    pixel: Expr = load(xs, pixel_element(x)) if are_rows else Element(first, load(picks, column))
    kind = "rows" if are_rows else "columns"
    return Kernel(
        strategy=kind,
        why=f"{kind} of an image, known at compile time",
        proc=Proc(
            f"gather_{kind}_{y.channels}_by_{y.width}",
            (xs, ys) if are_rows else (xs, picks, ys),
            (every_pixel(y, Store(at(ys, pixel_element(y)), pixel)),),
        ),
        summary=f"One row out of another: {y.said}.",
        access=(
            RowAccess(0, 0, 1, given=tuple((int(n),) for n in known)) if are_rows else RowAccess(1, 0, 1),
        ),
        constants={} if are_rows else {"columns": known * np.int32(x.x_step)},
    )


def _flat(site: Site) -> Kernel:
    op, x, indices = _op(site), site.input(0), site.input(1)
    batches, size = prod(x.shape[: op.batches]), x.shape[op.axis]
    outer, inner = prod(x.shape[op.batches : op.axis]), prod(x.shape[op.axis + 1 :])
    count = indices.elements // batches
    xs, ns, ys = operand(site, 0, "x"), _indices(site), result(site)
    nest = StridedNest(
        (batches, outer, count, inner),
        (
            (outer * size * inner, size * inner, 0, 1),
            (count, 0, 1, 0),
            dense_strides((batches, outer, count, inner)),
        ),
    ).merged()
    number = _times(_inside(site, load(ns, nest.element(1)), size), inner)
    if inner > 1:
        pieces = _pieces(nest, _narrowed(number, ns), xs, ys)
        kernel = _by_words(flat_kernel(site, (xs, ns), pieces, "a gathering"), x.dtype)
    else:
        body = nest.loops(Store(at(ys, nest.element(2)), Element(at(xs, nest.element(0)), number)))
        kernel = flat_kernel(site, (xs, ns), body, "a gathering")
    if 1 not in site.constants:
        return kernel
    return replace(kernel, constants={**kernel.constants, "indices": _known(site)})


def _pieces(nest: StridedNest, number: Expr, xs: Buffer, ys: Buffer) -> tuple[Stmt, ...]:
    """Moves contiguous pieces as a whole, reading each index once."""
    around = StridedNest(nest.sizes[:-1], tuple(steps[:-1] for steps in nest.strides))
    piece = _piece(number, nest.sizes[-1], (xs, around.element(0)), (ys, around.element(2)))
    return around.loops(*piece)


def _piece(
    number: Expr, length: int, source: tuple[Buffer, Affine], to: tuple[Buffer, Affine]
) -> tuple[Stmt, ...]:
    """Copies a piece: `number` is the offset from `source` at run time, `to` the destination."""
    i, first = variable("i"), local("first", DType.I32)
    (xs, start), (ys, place) = source, to
    store = Store(at(ys, place + i), Element(at(xs, start + i), load(first)))
    return *let(first, number), For("i", length, (store,))


def _by_words(kernel: Kernel, dtype: DType) -> Kernel:
    """Unrolls the loop, which is faster than the memcpy call that compilers generate for a plain loop."""
    return kernel if dtype.bytes < 4 else replace(kernel, proc=unroll_by(kernel.proc, "i", _WORDS))


def _inside(site: Site, number: Expr, size: int) -> Expr:
    """Clamps a computed index; constant ones are clamped at compile time."""
    return number if 1 in site.constants else within(number, size)


def _lower_nd(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    x, indices = site.input(0), site.input(1)
    depth = indices.shape[-1]
    count, inner = indices.elements // max(depth, 1), prod(x.shape[depth:])
    xs, ns, ys = operand(site, 0, "x"), operand(site, 1, "indices"), result(site)
    strides = dense_strides(x.shape)
    item = variable("item")
    number: Expr = Const(0)
    for axis in range(depth):
        place = within(load(ns, item * depth + axis), x.shape[axis])
        part = _times(place, strides[axis])
        number = part if axis == 0 else number + part
    number = _narrowed(number, ns)
    body = For("item", count, _piece(number, inner, (xs, Affine()), (ys, item * inner)))
    return _by_words(flat_kernel(site, (xs, ns), (body,), "a gathering"), x.dtype)


def _indices(site: Site) -> Buffer:
    indices = operand(site, 1, "indices")
    return replace(indices, dtype=DType.I32) if 1 in site.constants else indices


def _narrowed(number: Expr, indices: Buffer) -> Expr:
    """Converts a clamped index to 32 bits."""
    return Cast(DType.I32, number) if indices.dtype is DType.I64 else number


def _times(number: Expr, factor: int) -> Expr:
    return number if factor == 1 else number * factor


KERNELS: Mapping[str, OpKernel] = {
    "gather": OpKernel((Strategy("plain", _requests, _lower),), frozenset(DType)),
    "gather_nd": OpKernel((Strategy("plain", flat_requests, _lower_nd),), frozenset(DType)),
}
