"""What the pools share: rows, elements and padding of a window; and float pools and softmax."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aot.ir.types import Array, DType
from aot.ops.activation import Activation
from aot.ops.softmax import Softmax
from aot.ops.spatial import NO_PADDING, Pool2d, pad, patches
from codegen.formats import RowFormat, RowRequest, geometry
from codegen.isa.plain.f32 import clamp_f32, f32_function, literal
from codegen.isa.plain.scalar_math import expression_function
from codegen.kernels.kernel import Accumulation, Kernel, RowAccess, Site
from codegen.kernels.row_nests import every_pixel, grown, pixel_element, requests_anything, summed_window
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
    ScalarFunction,
    Store,
    at,
    let,
    load,
    local,
    maximum,
)
from codegen.loops.schedule import unroll

_UNROLLED_TAPS = 8
_T = variable("t")


def pool_of(site: Site) -> Pool2d:
    return site.op_as(Pool2d)


def pool_requests(site: Site, neutral: int) -> tuple[RowRequest | None, ...]:
    """Requests any rows, with padding of a value that does not change the result."""
    (top, bottom), (left, right) = pool_of(site).padding
    if not any((top, bottom, left, right)):
        return (None,)
    size = site.input(0).dtype.bytes
    return (RowRequest(dtype_bytes=size, left=left, right=right, top=top, bottom=bottom, fill=neutral),)


def pool_access(site: Site) -> tuple[RowAccess, ...]:
    op = pool_of(site)
    return (RowAccess(op.stride[0], -op.padding[0][0], op.size[0]),)


def window_element(op: Pool2d, x: RowFormat, tap: Affine = _T) -> Affine:
    """Returns the element under a tap of output `column`, channel c."""
    pixel = variable("column") * op.stride[1] + tap + (x.left - op.padding[1][0])
    return pixel * x.x_step + variable("c") * x.c_step


def scheduled_pool(proc: Proc, site: Site) -> Proc:
    """Unrolls the row of a small window."""
    is_short = pool_of(site).size[1] <= _UNROLLED_TAPS
    return unroll(proc, "t") if is_short and not site.is_plain else proc


def result_element(y: RowFormat) -> Affine:
    return (variable("column") + y.left) * y.x_step + variable("c") * y.c_step


_FLOATS = frozenset({DType.F32})
_LEAST = float(np.finfo(np.float32).min)


def _requests(site: Site, neutral: int) -> tuple[RowRequest | None, ...]:
    (top, bottom), (left, right) = pool_of(site).padding
    if not any((top, bottom, left, right)):
        return (None,)
    return (RowRequest(dtype_bytes=4, left=left, right=right, top=top, bottom=bottom, fill=neutral),)


def _requests_zeros(site: Site) -> tuple[RowRequest | None, ...]:
    return _requests(site, 0)


def _requests_least(site: Site) -> tuple[RowRequest | None, ...]:
    return _requests(site, int(_LEAST))


def _max_pool2d(site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    op, (x,) = pool_of(site), inputs
    xs, ys = _x(x, op.size[0]), _y(y)
    most = local("most", DType.F32)
    larger = maximum(load(most), load(xs, window_element(op, x), variable("r")))
    body = (
        *let(most, _LEAST),
        For("r", op.size[0], (For("t", op.size[1], (Store(at(most), larger),)),)),
        Store(at(ys, pixel_element(y)), _clamped(site, load(most))),
    )
    name = f"max_pool2d_{op.size[0]}x{op.size[1]}_{y.channels}_by_{y.width}_reals"
    return Kernel(
        strategy="reals",
        why="its only strategy",
        proc=Proc(name, (xs, ys), (every_pixel(y, *body),)),
        summary=f"One row of {op.size[0]}x{op.size[1]} maxima: {y.said}.",
        access=pool_access(site),
    )


def _average_pool2d(site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    op, (x,), rows = pool_of(site), inputs, geometry(site.input(0)).rows
    if op.size[0] == rows > 1 and op.padding == NO_PADDING and not (y.top or y.bottom):
        return _average_by_rows(site, x, y)
    counts = _counts(site)
    even = counts.min() == counts.max()
    xs, ys = _x(x, op.size[0]), _y(y)
    count = Buffer("count", DType.F32, counts.size, Role.CONSTANT)
    total = local("sum", DType.F32)
    if even:
        mean = Apply(_mean_of(int(counts.flat[0])), (load(total),))
    else:
        mean = Apply(_MEAN_OF_COUNTED, (load(total), load(count, variable("column"))))
    body = (
        *let(total, 0.0),
        *summed_window(total, *op.size, lambda r, t: load(xs, window_element(op, x, t), r)),
        Store(at(ys, pixel_element(y)), _clamped(site, mean)),
    )
    buffers = (xs, ys) if even else (xs, ys, count)
    return Kernel(
        strategy="reals",
        why="one result at a time",
        proc=Proc(_average_name(site, y), buffers, (every_pixel(y, *body),)),
        summary=f"One row of {op.size[0]}x{op.size[1]} means: {y.said}.",
        access=pool_access(site),
        constants={} if even else {"count": counts.reshape(-1)},
        row_tables={} if even else {"count": y.width},
    )


def _average_by_rows(site: Site, x: RowFormat, y: RowFormat) -> Kernel:
    """Accumulates a single row of results over the rows of the image."""
    op, elements, name = pool_of(site), y.width * y.channels, _average_name(site, y)
    xs, ys = _x(x, 1), _y(y)
    sums = Buffer("sums", DType.F32, elements, Role.STATE)
    place = at(sums, variable("column") * y.channels + variable("c"))
    mean = _mean_of(op.size[0] * op.size[1])
    taps = grown(place, op.size[1], lambda t: load(xs, window_element(op, x, t)))
    stored = Store(at(ys, pixel_element(y)), _clamped(site, Apply(mean, (load(sums, place.index),))))
    return Kernel(
        strategy="reals-by-rows",
        why=f"the {op.size[0]} rows of the image are added as they arrive",
        proc=Proc(f"{name}_add", (xs, sums), (every_pixel(y, *taps),)),
        summary=f"Means of {op.size[0]}x{op.size[1]}, {y.said}.",
        accumulation=Accumulation(
            Proc(f"{name}_begin", (sums,), (every_pixel(y, Store(place, Const(0.0))),)),
            Proc(f"{name}_finish", (sums, ys), (every_pixel(y, stored),)),
            elements,
            op.size[0],
            DType.F32,
        ),
    )


def _average_name(site: Site, y: RowFormat) -> str:
    op = pool_of(site)
    return f"average_pool2d_{op.size[0]}x{op.size[1]}_{y.channels}_by_{y.width}_reals"


def _softmax(site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    op, (x,) = site.op_as(Softmax), inputs
    xs, ys = _x(x, 1), _y(y)
    most, total, share = (local(n, DType.F32) for n in ("most", "sum", "share"))
    element, first = load(xs, pixel_element(x)), load(xs, pixel_element(x).substitute({"c": 0}))
    result = load(ys, pixel_element(y))
    below = (element - load(most)) * float(np.float32(op.beta))
    exp = f32_function("softmax_exp", "expf(v)", lambda v: float(np.exp(v)), ("math.h",))
    inverse = f32_function("softmax_share", "1.0f / v", lambda v: 1 / v)
    body = (
        *let(most, first),
        For("c", x.channels, (Store(at(most), maximum(load(most), element)),)),
        *let(total, 0.0),
        For("c", x.channels, (Store(result.place, Apply(exp, (below,))), Accumulate(at(total), result))),
        *let(share, Apply(inverse, (load(total),))),
        For("c", x.channels, (Store(result.place, result * load(share)),)),
    )
    return Kernel(
        strategy="reals",
        why="its only strategy",
        proc=Proc(f"softmax_{x.channels}_by_{x.width}_reals", (xs, ys), (For("column", x.width, body),)),
        summary=f"One row of a softmax: {y.said}.",
    )


def _x(x: RowFormat, rows: int) -> Buffer:
    return Buffer("x", DType.F32, x.row_elements, Role.ROWS, rows)


def _y(y: RowFormat) -> Buffer:
    return Buffer("y", DType.F32, y.row_elements, Role.OUTPUT)


def _clamped(site: Site, value: Expr) -> Expr:
    activation = pool_of(site).activation
    return value if activation is Activation.NONE else Apply(clamp_f32(activation), (value,))


def _counts(site: Site) -> Array:
    """Returns the number of pixels in each window, without padding: [row, column]."""
    op, g = pool_of(site), geometry(site.input(0))
    ones = pad(np.ones((1, g.rows, g.width, 1), np.float32), op.padding, 0)
    windows = patches(ones, op.size, op.stride, (1, 1))
    return np.asarray(windows.sum(axis=(4, 5)), np.float32)[0, :, :, 0]


def _mean_of(count: int) -> ScalarFunction:
    """Divides a sum. Multiplying by a rounded reciprocal would round twice."""
    return f32_function(f"mean_of_{count}_reals", f"v / {literal(count)}", lambda v: v / count)


_MEAN_OF_COUNTED = expression_function(
    "mean_of_counted_reals", DType.F32, (DType.F32, DType.F32), "a / b", lambda a, b: a / b
)
AVERAGE_POOL2D = OpKernel((Strategy("f32", _requests_zeros, _average_pool2d),), _FLOATS)
MAX_POOL2D = OpKernel((Strategy("f32", _requests_least, _max_pool2d),), _FLOATS)
SOFTMAX = OpKernel((Strategy("f32", requests_anything, _softmax),), _FLOATS)
