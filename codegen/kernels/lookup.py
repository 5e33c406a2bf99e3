"""lookup: a row of table entries; also the kernel of every 8-bit op that is a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aot.ir.types import Array, DType
from aot.ops.lookup import table_of
from codegen.formats import RowFormat, storage_dtype
from codegen.isa.plain.scalar import flipped_byte
from codegen.kernels.kernel import Kernel, Site, row_fits
from codegen.kernels.row_nests import every_pixel, pixel_element, requests_anything
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import variable
from codegen.loops.ir import Apply, Buffer, Element, For, Proc, Role, Store, at, load
from codegen.loops.tensorize import tensorize


def flips_sign(table: Array, source: DType, x: RowFormat, y: RowFormat) -> bool:
    """Returns True if each result is its operand moved by 128, and rows are bytes without gaps."""
    to = next(dtype for dtype in (DType.I8, DType.U8) if dtype.numpy == table.dtype)
    least, most = to.limits
    return (
        source is not to
        and np.array_equal(table, np.arange(least, most + 1))
        and _has_no_gap(x)
        and _has_no_gap(y)
    )


def _has_no_gap(fmt: RowFormat) -> bool:
    return (fmt.dtype_bytes, fmt.x_step) == (1, fmt.channels) and 1 in (fmt.c_step, fmt.channels)


def flip_sign_kernel(site: Site, position: int, x: RowFormat, y: RowFormat) -> Kernel:
    source, to, count = site.input(position), site.outputs[0], y.width * y.channels
    xs = Buffer("x", storage_dtype(source, x), x.row_elements, Role.ROWS)
    ys = Buffer("y", storage_dtype(to, y), y.row_elements, Role.OUTPUT)
    first, i = (fmt.left * fmt.x_step for fmt in (x, y)), variable("i")
    from_, into = (i + skipped for skipped in first)
    store = Store(at(ys, into), Apply(flipped_byte(to.dtype), (load(xs, from_),)))
    proc = Proc(f"flip_sign_{y.channels}_by_{y.width}", (xs, ys), (For("i", count, (store,)),))
    by_words = site.math.flipped_bytes
    return Kernel(
        strategy="plain" if by_words is None else "words",
        why="the core reads aligned words only" if by_words is None else "four bytes at a time",
        proc=proc if by_words is None else tensorize(proc, "i", [by_words(to.dtype, count)]),
        summary=f"One row of bytes to {to.dtype.value}: {y.said}.",
    )


def site_table(site: Site) -> Array | None:
    """Returns the table that computes the node, or None."""
    constants = [site.constants.get(i) for i in range(len(site.inputs))]
    return table_of(site.node.op, constants, site.inputs, site.outputs)


def lookup_kernel(site: Site, table: Array, x: RowFormat, y: RowFormat) -> Kernel:
    position = next(i for i in range(len(site.inputs)) if i not in site.constants)
    source = site.input(position)
    if flips_sign(table, source.dtype, x, y):
        return flip_sign_kernel(site, position, x, y)
    may_alias = row_fits(site, position, x, y)
    xs = Buffer("x", storage_dtype(source, x), x.row_elements, Role.ROWS, may_alias=may_alias)
    ys = Buffer("y", storage_dtype(site.outputs[0], y), y.row_elements, Role.OUTPUT, may_alias=may_alias)
    entries = Buffer("table", site.outputs[0].dtype, table.size, Role.CONSTANT)
    least, _ = source.dtype.limits
    value = load(xs, pixel_element(x))
    number = value - least if least else value
    result = Element(at(entries), number)
    return Kernel(
        strategy="table",
        why="256 results, known at compile time",
        proc=Proc(
            f"lookup_{y.channels}_by_{y.width}",
            (xs, ys, entries),
            (every_pixel(y, Store(at(ys, pixel_element(y)), result)),),
        ),
        summary=f"One row looked up in a table: {y.said}.",
        constants={"table": table},
    )


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    table = site_table(site)
    assert table is not None, "a lookup's table is constant"
    return lookup_kernel(site, table, inputs[0], output)


KERNEL = OpKernel((Strategy("plain", requests_anything, _lower),), frozenset({DType.I8, DType.U8}))
