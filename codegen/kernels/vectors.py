"""Requests and loops of kernels whose results need all channels of their pixel and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from aot.ir.types import Array
from codegen.formats import RowFormat, storage_dtype
from codegen.kernels.kernel import Kernel, RowAccess, Site
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import Buffer, BufferPlace, For, Load, Proc, Role, Stmt, at, load

# (channel of the input, place of a result channel) -> the statements of a pixel
Body = Callable[[Callable[[Affine | int], Load], Callable[[Affine], BufferPlace]], Sequence[Stmt]]
K = variable("k")  # the loops over channels
NO_TABLES: Mapping[Buffer, Array] = MappingProxyType({})


def vector_kernel(
    site: Site, x: RowFormat, y: RowFormat, body: Body, what: str, tables: Mapping[Buffer, Array] = NO_TABLES
) -> Kernel:
    """Returns the kernel that applies `body` to each pixel.

    `what` describes a pixel's result, such as "a softmax". `tables` are the constants that its statements
    read.
    """
    xs = Buffer("x", storage_dtype(site.input(0), x), x.row_elements, Role.ROWS)
    ys = Buffer("y", storage_dtype(site.outputs[0], y), y.row_elements, Role.OUTPUT)
    column = variable("column")

    def element(channel: Affine | int) -> Load:
        first = (column + x.left) * x.x_step
        return load(xs, first if channel == 0 else first + channel * x.c_step)

    def place(channel: Affine) -> BufferPlace:
        return at(ys, (column + y.left) * y.x_step + channel * y.c_step)

    pixels = For("column", x.width, tuple(body(element, place)))
    return Kernel(
        schedule="plain",
        why="its only schedule",
        proc=Proc(f"{site.node.op.name}_{x.channels}_by_{x.width}", (xs, ys, *tables), (pixels,)),
        summary=f"One row of {what}: {x.said}.",
        access=(RowAccess(stride=1, first=0, count=1),),
        constants={table.name: array for table, array in tables.items()},
    )
