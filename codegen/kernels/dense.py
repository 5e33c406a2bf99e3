"""dense: dot products of one vector with every row of the weights, whole or one image row at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from aot.ir.types import DType
from aot.ops.dense import Dense
from aot.target import Feature
from codegen.formats import RowFormat, RowRequest, storage_dtype
from codegen.kernels.dot_product import DotProblem, DotScheduler, Tile, plain_dot, stored_bytes
from codegen.kernels.f32_sums import DENSE
from codegen.kernels.kernel import Accumulation, Kernel, RowAccess, Site
from codegen.kernels.requantised import Requantised, fitted_tail, requantised, scale_constants
from codegen.kernels.strategy import Condition, OpKernel, RowRequests, Strategy, by_dtype
from codegen.loops.affine import variable
from codegen.loops.ir import Buffer, For, Proc, Role, Store, at, load

_ROWS = (RowAccess(stride=1, first=0, count=1),)


def _op(site: Site) -> Dense:
    return site.op_as(Dense)


def dense_tail(site: Site) -> Requantised:
    return requantised(site, _op(site), site.constants[1], site.outputs[0])


def fitted_dense_tail(site: Site) -> Requantised:
    return fitted_tail(dense_tail(site), site.constants[1], site.input(0).dtype)


def dense_strategy(
    name: str,
    dot: DotScheduler,
    dtype_bytes: Callable[[Site], int],
    group: int = 1,
    needs: frozenset[Feature] = frozenset(),
    fits: tuple[Condition[Site], ...] = (),
    tail_of: Callable[[Site], Requantised] = fitted_dense_tail,
    vector_tail_of: Callable[[Site], Requantised] | None = None,
) -> Strategy:
    """Returns a strategy over a vector of elements of `dtype_bytes`.

    It reads them in groups of `group`, past the end if needed. `tail_of` defines how sums are stored;
    `vector_tail_of` replaces it for results that are computed from a whole vector.
    """

    def requests(site: Site) -> RowRequests:
        return (RowRequest(dtype_bytes=dtype_bytes(site), slack=-site.constants[1].shape[1] % group),)

    def lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
        (x,), w = inputs, site.constants[1]
        rows = w.shape[1] // (x.width * x.channels)
        if rows == 1:
            return _at_once(site, x, output, (vector_tail_of or tail_of)(site), dot)
        return _by_rows(site, x, output, tail_of(site), rows, dot)

    return Strategy(name, requests, lower, needs, fits, reads_image_rows=sums_of_32_bits)


def sums_of_32_bits(site: Site) -> bool:
    """Returns True if sums have 32 bits, for which the arena is aligned."""
    return dense_tail(site).storing.sum_dtype is DType.I32


def _at_once(site: Site, x: RowFormat, y: RowFormat, tail: Requantised, dot: DotScheduler) -> Kernel:
    w = site.constants[1]
    made = dot(site, _problem(site, x, y, tail, w.shape[1]))
    return Kernel(
        strategy=made.strategy,
        why=f"{x.dtype_bytes * 8}-bit input, read once",
        proc=made.proc,
        summary=f"A dense layer: {w.shape[1]} -> {w.shape[0]}.",
        access=_ROWS,
        constants={"w": made.stored(w), **tail.tables_of(made.proc.params)},
        space=made.space,
        point=made.point,
    )


def _by_rows(
    site: Site, x: RowFormat, y: RowFormat, tail: Requantised, rows: int, dot: DotScheduler
) -> Kernel:
    """Returns a kernel that accumulates row by row, so that the flattened image need not exist as a whole."""
    w = site.constants[1]
    length = w.shape[1] // rows
    made = dot(site, _problem(site, x, y, None, length))
    parts = [made.stored(part) for part in np.split(w, rows, axis=1)]
    start, finish = _start(w.shape[0]), _finish(site, y, tail)
    return Kernel(
        strategy=f"{made.strategy}-by-rows",
        why=f"the {rows} rows of the image are added as they arrive",
        proc=made.proc,
        summary=f"One row of {length} of a dense layer of {w.shape[1]} -> {w.shape[0]}.",
        access=_ROWS,
        constants={"w": np.concatenate(parts), **tail.tables_of((*start.params, *finish.params))},
        row_tables={"w": parts[0].size},
        space=made.space,
        point=made.point,
        accumulation=Accumulation(start, finish, w.shape[0], rows),
    )


def _problem(site: Site, x: RowFormat, y: RowFormat, tail: Requantised | None, length: int) -> DotProblem:
    channels = site.constants[1].shape[0]
    return DotProblem(
        name=f"dense_{length}_to_{channels}",
        pixels=1,
        channels=channels,
        kernel_rows=1,
        taps=1,
        tap_step=0,
        length=length,
        x_dtype=storage_dtype(site.input(0), x),
        x_elements=x.row_elements,
        x_first=x.left * x.x_step,
        x_step=0,
        y_dtype=storage_dtype(site.outputs[0], y) if tail is not None else DType.I32,
        y_elements=y.row_elements if tail is not None else channels,
        y_first=y.left * y.x_step if tail is not None else 0,
        y_pixel_step=y.x_step if tail is not None else 0,
        y_channel_step=y.c_step if tail is not None else 1,
        tail=tail,
        w_dtype=site.input(1).dtype,
    )


def _start(channels: int) -> Proc:
    sums = Buffer("sums", DType.I32, channels, Role.STATE)
    bias = Buffer("bias", DType.I32, channels, Role.CONSTANT)
    begin = Store(at(sums, variable("o")), load(bias, variable("o")))
    return Proc(f"dense_begin_{channels}", (sums, bias), (For("o", channels, (begin,)),))


def _finish(site: Site, y: RowFormat, tail: Requantised) -> Proc:
    channels = site.constants[1].shape[0]
    sums = Buffer("sums", DType.I32, channels, Role.STATE)
    ys = Buffer("y", storage_dtype(site.outputs[0], y), y.row_elements, Role.OUTPUT)
    o = variable("o")
    channel = scale_constants(tail.storing, channels, o)
    place = at(ys, o * y.c_step + y.left * y.x_step)
    body = (*channel.loads, Store(place, channel.stored(load(sums, o))))
    return Proc(f"dense_finish_{channels}", (sums, ys, *channel.tables), (For("o", channels, body),))


_PLAIN = dense_strategy("plain", plain_dot(Tile(1, 2)), stored_bytes)
_INTEGERS = OpKernel((_PLAIN,), frozenset({DType.I8, DType.I16}))
KERNEL = by_dtype(_INTEGERS, DENSE)
