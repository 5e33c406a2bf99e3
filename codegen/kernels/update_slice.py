"""update_slice: each element from the update if covered by it, otherwise from the original."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from aot.ir.types import DType, dense_strides
from codegen.formats import RowFormat
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.row_nests import StridedNest, flat_kernel, flat_requests, operand, result, within
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.kernels.write_rows import FIRST, row_write
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Buffer,
    Cast,
    Choose,
    Const,
    Declare,
    Element,
    Expr,
    Index,
    Invoke,
    Role,
    Store,
    at,
    less,
    let,
    load,
)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    if site.in_place:
        return _in_place(site)
    x, part = site.input(0), site.input(1)
    xs, ps, ns, ys = operand(site, 0, "x"), operand(site, 1, "part"), operand(site, 2, "begins"), result(site)
    first = Buffer("first", DType.I32, max(1, x.rank), Role.LOCAL)
    room = [d - p for d, p in zip(x.shape, part.shape, strict=True)]
    nest = StridedNest(x.shape, (dense_strides(x.shape),))
    distances: list[Expr] = [Index(variable(f"i{axis}")) - load(first, axis) for axis in range(x.rank)]
    place: Expr = Const(0)
    for distance, stride in zip(distances, dense_strides(part.shape), strict=True):
        place = place + distance * stride
    outside = load(xs, nest.element(0))
    value: Expr = Element(at(ps), place)
    for distance, size in zip(distances, part.shape, strict=True):
        value = Choose(
            less(distance, 0),
            outside,
            Choose(less(distance, size), value, outside),
        )
    body = (
        Declare(first),
        *(Store(at(first, axis), within(load(ns, axis), room[axis] + 1)) for axis in range(x.rank)),
        *nest.loops(Store(at(ys, nest.element(0)), value)),
    )
    return flat_kernel(site, (xs, ps, ns), body, "an update")


def _in_place(site: Site) -> Kernel:
    """Writes the part alone, in contiguous pieces."""
    x, part = site.input(0), site.input(1)
    ps, ns, ys = operand(site, 1, "part"), operand(site, 2, "begins"), result(site)
    axis = max((a for a, (p, d) in enumerate(zip(part.shape, x.shape, strict=True)) if p != d), default=0)
    length, strides = prod(part.shape[axis:]), dense_strides(x.shape)
    first: Expr = Const(0)
    for a, stride in enumerate(strides):
        begin = within(load(ns, a), x.shape[a] - part.shape[a] + 1)
        narrow = Cast(DType.I32, begin) if ns.dtype is DType.I64 else begin
        first = first + narrow * stride
    nest = StridedNest(part.shape[:axis], (strides[:axis], dense_strides(part.shape)[:axis]))
    last = sum((p - 1) * stride for p, stride in zip(part.shape[:axis], strides[:axis], strict=True))
    piece = row_write(x.dtype, x.elements - last, length)
    written = Invoke(piece, (at(ys, nest.element(0)), at(ps, nest.element(1)), at(FIRST)))
    body = (*let(FIRST, first), *nest.loops(written))
    return flat_kernel(site, (ps, ns), body, "an update")


KERNEL = OpKernel((Strategy("plain", flat_requests, _lower),), frozenset(DType))
