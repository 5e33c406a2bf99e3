"""gather: elements read at indices that are read themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from aot.ir.types import DType
from aot.ops.gather import Gather
from codegen.kernels.flat import flat_kernel, flat_wants, operand, result, within
from codegen.kernels.kernel import Kernel, OpKernel, Site
from codegen.kernels.nest import Nest, dense_strides
from codegen.loops.affine import variable
from codegen.loops.ir import Binary, Buffer, Const, Declare, Element, Expr, For, Role, Stmt, Store, at, load
from codegen.model import RowFormat


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op, x, indices = site.node.op, site.input(0), site.input(1)
    assert isinstance(op, Gather)
    batches, size = prod(x.shape[: op.batches]), x.shape[op.axis]
    outer, inner = prod(x.shape[op.batches : op.axis]), prod(x.shape[op.axis + 1 :])
    count = indices.elements // batches
    xs, ns, ys = operand(site, 0, "x"), _indices(site), result(site)
    nest = Nest(
        (batches, outer, count, inner),
        (
            (outer * size * inner, size * inner, 0, 1),
            (count, 0, 1, 0),
            dense_strides((batches, outer, count, inner)),
        ),
    ).merged()
    number = _times(_inside(site, load(ns, nest.element(1)), size), inner)
    body = nest.loops(Store(at(ys, nest.element(2)), Element(at(xs, nest.element(0)), number)))
    kernel = flat_kernel(site, (xs, ns), body, "a gathering")
    if 1 not in site.constants:
        return kernel
    known = np.clip(site.constants[1].reshape(-1).astype(np.int32), 0, size - 1)
    return replace(kernel, constants={**kernel.constants, "indices": known})


def _inside(site: Site, number: Expr, size: int) -> Expr:
    """Constant indices are moved inside beforehand."""
    return number if 1 in site.constants else within(number, size)


def _lower_nd(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    x, indices = site.input(0), site.input(1)
    depth = indices.shape[-1]
    count, inner = indices.elements // max(depth, 1), prod(x.shape[depth:])
    xs, ns, ys = operand(site, 0, "x"), operand(site, 1, "indices"), result(site)
    strides = dense_strides(x.shape)
    item, i = variable("item"), variable("i")
    number: Expr = Const(0)
    for axis in range(depth):
        place = within(load(ns, item * depth + axis), x.shape[axis])
        part = _times(place, strides[axis])
        number = part if axis == 0 else Binary("+", number, part)
    first = Buffer("first", DType.I32, 1, Role.LOCAL)  # element of the item
    store: Stmt = Store(at(ys, item * inner + i), Element(at(xs, i), load(first)))
    begin = (Declare(first), Store(at(first), number))
    body = (For("item", count, (*begin, For("i", inner, (store,)))),)
    return flat_kernel(site, (xs, ns), body, "a gathering")


def _indices(site: Site) -> Buffer:
    indices = operand(site, 1, "indices")
    return replace(indices, dtype=DType.I32) if 1 in site.constants else indices


def _times(number: Expr, factor: int) -> Expr:
    return number if factor == 1 else Binary("*", number, Const(factor))


KERNELS: Mapping[str, OpKernel] = {
    "gather": OpKernel(wants=flat_wants, lower=_lower, dtypes=frozenset(DType)),
    "gather_nd": OpKernel(wants=flat_wants, lower=_lower_nd, dtypes=frozenset(DType)),
}
