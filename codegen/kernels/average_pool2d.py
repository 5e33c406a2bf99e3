"""average_pool2d: one output row of means. If the result has a single row, it accumulates row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from aot.ir.types import Array, DType
from aot.ops.activation import integer_clamp
from aot.ops.average_pool2d import AveragePool2d, Halves
from aot.ops.spatial import NO_PADDING, pad, patches
from codegen.formats import RowFormat, RowRequest, geometry, storage_dtype
from codegen.isa.plain.scalar import clamp_to, mean_of, mean_of_counted
from codegen.kernels.kernel import Accumulation, Kernel, Site
from codegen.kernels.pools import (
    AVERAGE_POOL2D,
    pool_access,
    pool_of,
    pool_requests,
    result_element,
    scheduled_pool,
    window_element,
)
from codegen.kernels.strategy import Condition, OpKernel, RowFormats, Strategy, by_dtype
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
    ScalarFunction,
    Store,
    at,
    let,
    load,
    local,
)


def requests(site: Site) -> tuple[RowRequest | None, ...]:
    return pool_requests(site, neutral=0)


def _has_one_row(site: Site) -> bool:
    op, rows = pool_of(site), geometry(site.input(0)).rows
    return op.size[0] == rows > 1 and op.padding == NO_PADDING


ONE_ROW = Condition("windows that span all rows of an image", _has_one_row)
NO_ROWS_AROUND = Condition[RowFormats](
    "results without padding rows", lambda rows: not (rows.output.top or rows.output.bottom)
)


def _by_rows(site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    kernel = rows_added(site, inputs[0], y)
    return replace(kernel, proc=scheduled_pool(kernel.proc, site))


def _by_windows(site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    op, (x,) = pool_of(site), inputs
    counts = _counts(site)
    even = counts.min() == counts.max()
    xs, ys = _x(site, x, op.size[0]), _y(site, y)
    count = Buffer("count", DType.I32, counts.size, Role.CONSTANT)
    total = local("sum", DType.I32)
    mean: Expr
    if even:
        mean = Apply(mean_of(int(counts.flat[0]), _halves(site)), (load(total),))
    else:
        mean = Apply(mean_of_counted(_halves(site)), (load(total), load(count, variable("column"))))
    element = load(xs, window_element(op, x), variable("r"))
    body = (
        *let(total, 0),
        For("r", op.size[0], (For("t", op.size[1], (Accumulate(at(total), element),)),)),
        Store(at(ys, result_element(y)), Apply(_clamp(site), (mean,))),
    )
    loops = For("column", y.width, (For("c", y.channels, body),))
    name = f"average_pool2d_{op.size[0]}x{op.size[1]}_{y.channels}_by_{y.width}"
    proc = Proc(name, (xs, ys) if even else (xs, ys, count), (loops,))
    return Kernel(
        strategy="windows",
        why="one result at a time",
        proc=scheduled_pool(proc, site),
        summary=f"One row of {op.size[0]}x{op.size[1]} means: {y.said}.",
        access=pool_access(site),
        constants={} if even else {"count": counts.astype(np.int32).reshape(-1)},
        row_tables={} if even else {"count": y.width},
    )


def rows_added(site: Site, x: RowFormat, y: RowFormat) -> Kernel:
    """Accumulates sums over the image rows, without a schedule."""
    op, elements = pool_of(site), y.width * y.channels
    xs, ys = _x(site, x, 1), _y(site, y)
    sums = Buffer("sums", DType.I32, elements, Role.STATE)
    mean = Apply(mean_of(op.size[0] * op.size[1], _halves(site)), (load(sums, _sum_of(y)),))
    taps = For("t", op.size[1], (Accumulate(at(sums, _sum_of(y)), load(xs, window_element(op, x))),))
    name = f"average_pool2d_{op.size[0]}x{op.size[1]}_{y.channels}_by_{y.width}"
    add = Proc(f"{name}_add", (xs, sums), (_every(y, taps),))
    start = Proc(f"{name}_begin", (sums,), (_every(y, Store(at(sums, _sum_of(y)), Const(0))),))
    stored = Store(at(ys, result_element(y)), Apply(_clamp(site), (mean,)))
    return Kernel(
        strategy="by-rows",
        why=f"the {op.size[0]} rows of the image are added as they arrive",
        proc=add,
        summary=f"Means of {op.size[0]}x{op.size[1]}, {y.said}.",
        accumulation=Accumulation(
            start, Proc(f"{name}_finish", (sums, ys), (_every(y, stored),)), elements, op.size[0]
        ),
    )


def _every(y: RowFormat, stmt: For | Store) -> For:
    return For("column", y.width, (For("c", y.channels, (stmt,)),))


def _sum_of(y: RowFormat) -> Affine:
    return variable("column") * y.channels + variable("c")


def _x(site: Site, x: RowFormat, rows: int) -> Buffer:
    return Buffer("x", storage_dtype(site.input(0), x), x.row_elements, Role.ROWS, rows)


def _y(site: Site, y: RowFormat) -> Buffer:
    return Buffer("y", storage_dtype(site.outputs[0], y), y.row_elements, Role.OUTPUT)


def _halves(site: Site) -> Halves:
    return site.op_as(AveragePool2d).halves


def _clamp(site: Site) -> ScalarFunction:
    return clamp_to(*integer_clamp(pool_of(site).activation, site.outputs[0]), site.outputs[0].dtype)


def _counts(site: Site) -> Array:
    """Counts the image pixels in each window, without padding: [row, column]."""
    op, g = pool_of(site), geometry(site.input(0))
    ones = pad(np.ones((1, g.rows, g.width, 1), np.int64), op.padding, 0)
    return np.asarray(patches(ones, op.size, op.stride, (1, 1)).sum(axis=(4, 5)))[0, :, :, 0]


_INTEGERS = OpKernel(
    (
        Strategy("by-rows", requests, _by_rows, fits=(ONE_ROW,), takes=(NO_ROWS_AROUND,)),
        Strategy("windows", requests, _by_windows),
    ),
    frozenset({DType.I8, DType.I16}),
)
KERNEL = by_dtype(_INTEGERS, AVERAGE_POOL2D)
