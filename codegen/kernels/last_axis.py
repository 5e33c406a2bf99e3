"""The loops of kernels that map vectors along the last axis: by image rows, or over flat memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aot.ir.types import TensorType
from codegen.formats import RowFormat, RowRequest, storage_dtype
from codegen.kernels.flat import flat_kernel, flat_requests, operand, result
from codegen.kernels.kernel import Kernel, RowAccess, Site
from codegen.loops.affine import Affine, to_affine, variable
from codegen.loops.ir import Buffer, BufferPlace, For, Load, Proc, Role, Stmt, at


@dataclass(frozen=True)
class AxisVector:
    """One vector in a buffer: its first element, and the step between elements."""

    buffer: Buffer
    first: Affine
    step: int = 1

    def at(self, element: Affine | int) -> BufferPlace:
        return at(self.buffer, self.first + to_affine(element) * self.step)

    def load(self, element: Affine | int) -> Load:
        return Load(self.at(element))


Body = Callable[[AxisVector, AxisVector], Sequence[Stmt]]  # (vector of x, vector of the result) -> statements


def last_axis_requests(site: Site) -> tuple[RowRequest | None, ...]:
    """Requests any rows for images, otherwise a contiguous operand."""
    return (None,) if goes_by_images_rows(site) else flat_requests(site)


def goes_by_images_rows(site: Site) -> bool:
    return all(_is_image(tensor) for tensor in (site.input(0), site.outputs[0]))


def _is_image(tensor: TensorType) -> bool:
    return tensor.rank == 4 and tensor.shape[0] == 1


def last_axis_kernel(
    site: Site,
    inputs: Sequence[RowFormat],
    output: RowFormat,
    body: Body,
    what: str,
    constants: Sequence[Buffer] = (),
) -> Kernel:
    """Returns the kernel that applies `body` to each vector.

    `what` describes all results, such as "the spectrum". `constants` are the ones that the body reads, in
    order.
    """
    if not goes_by_images_rows(site):
        return _over_flat_memory(site, body, what, constants)
    (x,), y = inputs, output
    xs = Buffer("x", storage_dtype(site.input(0), x), x.row_elements, Role.ROWS)
    ys = Buffer("y", storage_dtype(site.outputs[0], y), y.row_elements, Role.OUTPUT)
    column = variable("column")
    vectors = [AxisVector(b, (column + f.left) * f.x_step, f.c_step) for b, f in ((xs, x), (ys, y))]
    pixels = For("column", y.width, tuple(body(vectors[0], vectors[1])))
    return Kernel(
        schedule="plain",
        why="its only schedule",
        proc=Proc(
            f"{site.node.op.name}_{y.channels}_of_{x.channels}_by_{y.width}", (xs, *constants, ys), (pixels,)
        ),
        summary=f"One row of {what}: {y.said}.",
        access=(RowAccess(stride=1, first=0, count=1),),
        constants={constants[i - 1].name: array.reshape(-1) for i, array in site.constants.items()},
    )


def _over_flat_memory(site: Site, body: Body, what: str, constants: Sequence[Buffer]) -> Kernel:
    xs, ys, row = operand(site, 0, "x"), result(site), variable("row")
    size, made = site.input(0).shape[-1], site.outputs[0].shape[-1]
    vectors = AxisVector(xs, row * size), AxisVector(ys, row * made)
    loop = For("row", ys.elements // made, tuple(body(*vectors)))
    return flat_kernel(site, (xs, *constants), (loop,), what)
