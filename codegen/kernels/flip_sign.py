"""Converts a row between int8 and uint8 with the same scale, without a table."""

from __future__ import annotations

import numpy as np

from aot.ir.types import Array, DType
from codegen.formats import RowFormat, storage_dtype
from codegen.isa.plain.rescale import flipped_byte
from codegen.kernels.kernel import Kernel, Site
from codegen.loops.affine import variable
from codegen.loops.ir import Apply, Buffer, For, Proc, Role, Store, at, load
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
