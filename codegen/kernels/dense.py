"""dense: dot products of one vector with every row of the weights, all at once or an image row at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from aot.ir.types import DType
from aot.ops.dense import Dense
from aot.ops.requant import conv_requant
from codegen.formats import Want, storage_dtype
from codegen.instr.requantise import Requant
from codegen.kernels.dot_product import (
    GROUP,
    DotProblem,
    ScheduledDot,
    Tile,
    dsp_space,
    plain_space,
    schedule_dsp,
    schedule_plain,
)
from codegen.kernels.dot_product_mve import schedule_mve
from codegen.kernels.kernel import Accumulation, Kernel, OpKernel, RowAccess, Site
from codegen.kernels.knobs import Point, Space
from codegen.kernels.requantised import Requantised, requantised, scale_constants
from codegen.loops.affine import variable
from codegen.loops.ir import Buffer, For, Proc, Role, Store, at, load
from codegen.model import RowFormat

_ROWS = (RowAccess(stride=1, first=0, count=1),)


def _op(site: Site) -> Dense:
    assert isinstance(site.node.op, Dense)
    return site.node.op


def _wants(site: Site) -> tuple[Want | None, ...]:
    if site.mve and site.are_bytes:
        return (Want(),)
    widened = site.input(0).dtype is DType.I16 or (site.dsp and site.wide)
    depth = site.constants[1].shape[1]
    return (Want(dtype_bytes=2 if widened else 1, slack=-depth % GROUP if site.dsp else 0),)


def _sums_fit_32_bits(site: Site) -> bool:
    """The arena is aligned for sums of 32 bits."""
    return _tail(site).to_int8.sum_dtype is DType.I32


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    (x,), w = inputs, site.constants[1]
    rows = w.shape[1] // (x.width * x.channels)
    return _at_once(site, x, output) if rows == 1 else _by_rows(site, x, output, rows)


def _at_once(site: Site, x: RowFormat, y: RowFormat) -> Kernel:
    w, tail = site.constants[1], _tail(site)
    problem = _problem(site, x, y, tail, w.shape[1])
    made = _schedule(site, problem, tail.requant)
    return Kernel(
        schedule=made.name,
        why=f"{x.dtype_bytes * 8}-bit input, read once",
        proc=made.scheduled.proc,
        summary=f"A dense layer: {w.shape[1]} -> {w.shape[0]}.",
        access=_ROWS,
        constants={"w": made.scheduled.stored(w), **tail.tables},
        space=made.space,
        point=made.point,
    )


def _by_rows(site: Site, x: RowFormat, y: RowFormat, rows: int) -> Kernel:
    """The image in front of the flattening need not exist: each of its rows adds its part to the sums."""
    w, tail = site.constants[1], _tail(site)
    length = w.shape[1] // rows
    made = _schedule(site, _problem(site, x, y, None, length), None)
    parts = [made.scheduled.stored(part) for part in np.split(w, rows, axis=1)]
    return Kernel(
        schedule=f"{made.name}-by-rows",
        why=f"the {rows} rows of the image are added as they come",
        proc=made.scheduled.proc,
        summary=f"One row of {length} of a dense layer of {w.shape[1]} -> {w.shape[0]}.",
        access=_ROWS,
        constants={"w": np.concatenate(parts), **tail.tables},
        row_tables={"w": parts[0].size},
        space=made.space,
        point=made.point,
        accumulation=Accumulation(_start(w.shape[0]), _finish(site, y, tail), w.shape[0], rows),
    )


def _tail(site: Site) -> Requantised:
    op, x, out, w = _op(site), site.input(0), site.outputs[0], site.constants[1]
    multipliers = conv_requant(x, site.input(1), out, w.shape[0])
    return requantised(w, site.constants.get(2), multipliers, x, out, op.activation, op.rounding, site.dsp)


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
        to_int8=tail.to_int8 if tail is not None else None,
        w_dtype=site.input(1).dtype,
        sum_dtype=tail.to_int8.sum_dtype if tail is not None else DType.I32,
    )


@dataclass(frozen=True)
class _Made:
    """A schedule with its name and what was open in it."""

    name: str
    scheduled: ScheduledDot
    space: Space | None = None
    point: Point = field(default_factory=dict)


def _schedule(site: Site, problem: DotProblem, requant: Requant | None) -> _Made:
    if site.mve and site.are_bytes:
        return _Made("helium", schedule_mve(problem, requant, site.optimize))
    if site.dsp and problem.sum_dtype is DType.I32:
        space = dsp_space(problem, site.optimize, site.macs)
        point = space.chosen(site.tuned)
        return _Made("smlad", schedule_dsp(problem, Tile(**point), site.optimize), space, point)
    space = plain_space(problem, Tile(1, 2))
    point = space.chosen(site.tuned)
    return _Made("plain", schedule_plain(problem, Tile(**point)), space, point)


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
    channel = scale_constants(tail.to_int8, channels, o)
    place = at(ys, o * y.c_step + y.left * y.x_step)
    body = (*channel.loads, Store(place, channel.stored(load(sums, o))))
    return Proc(f"dense_finish_{channels}", (sums, ys, *channel.tables), (For("o", channels, body),))


KERNEL = OpKernel(
    wants=_wants,
    lower=_lower,
    dtypes=frozenset({DType.I8, DType.I16}),
    takes_rows=True,
    takes_rows_at=_sums_fit_32_bits,
)
