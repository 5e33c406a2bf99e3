"""max_pool2d: one output row of maxima."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aot.ir.types import DType
from aot.ops.activation import integer_clamp
from codegen.formats import RowFormat, RowRequest, storage_dtype
from codegen.isa.plain.scalar import clamp_to
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.knobs import unroll_space
from codegen.kernels.pools import (
    MAX_POOL2D,
    pool_access,
    pool_of,
    pool_requests,
    result_element,
    scheduled_pool,
    window_element,
)
from codegen.kernels.strategy import OpKernel, Strategy, by_dtype
from codegen.loops.affine import variable
from codegen.loops.ir import Apply, Buffer, For, Proc, Role, Store, at, let, load, local, maximum
from codegen.loops.schedule import unroll_by


def _least(site: Site) -> int:
    return site.input(0).dtype.limits[0]


def _requests(site: Site) -> tuple[RowRequest | None, ...]:
    return pool_requests(site, neutral=_least(site))


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    kernel = maxima(site, inputs, output)
    space = unroll_space(f"{kernel.proc.name} {site.outputs[0].dtype.value}", output.channels)
    point = space.chosen(site.tuned)
    return replace(kernel, proc=unroll_by(kernel.proc, "c", point["unroll"]), space=space, point=point)


def maxima(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    """Computes a row of maxima, channel by channel."""
    op, (x,), y = pool_of(site), inputs, output
    xs = Buffer("x", storage_dtype(site.input(0), x), x.row_elements, Role.ROWS, op.size[0])
    ys = Buffer("y", storage_dtype(site.outputs[0], y), y.row_elements, Role.OUTPUT)
    most = local("most", DType.I32)
    low, high = integer_clamp(op.activation, site.outputs[0])
    larger = maximum(load(most), load(xs, window_element(op, x), variable("r")))
    body = (
        *let(most, _least(site)),
        For("r", op.size[0], (For("t", op.size[1], (Store(at(most), larger),)),)),
        Store(at(ys, result_element(y)), Apply(clamp_to(low, high, site.outputs[0].dtype), (load(most),))),
    )
    loops = For("column", y.width, (For("c", y.channels, body),))
    name = f"max_pool2d_{op.size[0]}x{op.size[1]}_{y.channels}_by_{y.width}"
    return Kernel(
        strategy="plain",
        why="one result at a time",
        proc=scheduled_pool(Proc(name, (xs, ys), (loops,)), site),
        summary=f"One row of {op.size[0]}x{op.size[1]} maxima: {y.said}.",
        access=pool_access(site),
    )


_INTEGERS = OpKernel((Strategy("plain", _requests, _lower),), frozenset({DType.I8, DType.I16}))
KERNEL = by_dtype(_INTEGERS, MAX_POOL2D)
