"""concat: joins rows of the inputs to one row of the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aot.ir.types import Array, DType
from aot.ops.concat import Concat
from codegen.formats import Geometry, RowFormat, RowRequest, geometry, storage_dtype
from codegen.kernels.kernel import Kernel, RowAccess, Site
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import Buffer, For, Proc, Role, Store, at, load

_WRITTEN_OUT = 4  # channels; a loop would cost more than copying so few


@dataclass(frozen=True)
class _Part:
    buffer: Buffer
    element: Affine  # at `column`, channel `c`
    size: Geometry
    data: Array | None = None


def _requests(site: Site) -> tuple[RowRequest | None, ...]:
    return (None,) * sum(i not in site.constants for i in range(len(site.inputs)))


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op, y = site.op_as(Concat), output
    ys = Buffer("y", storage_dtype(site.outputs[0], y), y.row_elements, Role.OUTPUT)
    parts = _parts(site, inputs)
    loops, done = [], 0
    for part in parts:
        column, channel = variable("column"), variable("c")
        if op.axis == site.outputs[0].rank - 1:
            channel, done = channel + done, done + part.size.channels
        else:
            column, done = column + done, done + part.size.width
        place = at(ys, (column + y.left) * y.x_step + channel * y.c_step)
        copy = Store(place, load(part.buffer, part.element))
        is_thin = part.size.channels <= _WRITTEN_OUT < part.size.width
        loops.append(For("column", part.size.width, (For("c", part.size.channels, (copy,), is_thin),)))
    constants = {p.buffer.name: p.data for p in parts if p.data is not None}
    rows = geometry(site.outputs[0]).rows
    return Kernel(
        strategy="copy",
        why="its only strategy",
        proc=Proc(f"concat_{y.channels}_by_{y.width}", (*(p.buffer for p in parts), ys), tuple(loops)),
        summary=f"One row put together from {len(parts)}: {y.said}.",
        access=(RowAccess(stride=1, first=0, count=1),) * len(inputs),
        constants=constants,
        row_tables={name: data.size // rows for name, data in constants.items()} if rows > 1 else {},
    )


def _parts(site: Site, inputs: Sequence[RowFormat]) -> list[_Part]:
    formats = iter(inputs)
    return [
        _constant(f"x{i}", site, i) if i in site.constants else _rows(f"x{i}", site, i, next(formats))
        for i in range(len(site.inputs))
    ]


def _rows(name: str, site: Site, position: int, x: RowFormat) -> _Part:
    buffer = Buffer(name, storage_dtype(site.input(position), x), x.row_elements, Role.ROWS)
    element = (variable("column") + x.left) * x.x_step + variable("c") * x.c_step
    return _Part(buffer, element, geometry(site.input(position)))


def _constant(name: str, site: Site, position: int) -> _Part:
    tensor = site.input(position)
    buffer = Buffer(name, tensor.dtype, tensor.elements, Role.CONSTANT)
    size = geometry(tensor)
    element = variable("column") * size.channels + variable("c")
    return _Part(buffer, element, size, site.constants[position].reshape(-1))


_KERNEL = OpKernel((Strategy("plain", _requests, _lower),), frozenset(DType))
KERNELS: Mapping[str, OpKernel] = {"concat": _KERNEL}
