"""pad: a row copied together with the margins that the input's rows bring along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aot.ir.types import DType
from aot.ops.pad import Pad
from codegen.formats import Want, storage_dtype
from codegen.kernels.kernel import Kernel, OpKernel, RowAccess, Site
from codegen.kernels.pixels import every_pixel, pixel_element
from codegen.loops.affine import variable
from codegen.loops.ir import Buffer, Proc, Role, Store, at, load
from codegen.model import RowFormat


def _op(site: Site) -> Pad:
    assert isinstance(site.node.op, Pad)
    return site.node.op


def _wants(site: Site) -> tuple[Want | None, ...]:
    (top, bottom), (left, right) = _op(site).padding
    size, fill = site.input(0).dtype.bytes, int(_op(site).value)
    return (Want(dtype_bytes=size, left=left, right=right, top=top, bottom=bottom, fill=fill),)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    (x,), y, ((top, _), (left, _)) = inputs, output, _op(site).padding
    xs = Buffer("x", storage_dtype(site.input(0), x), x.row_elements, Role.ROWS)
    ys = Buffer("y", storage_dtype(site.outputs[0], y), y.row_elements, Role.OUTPUT)
    element = (variable("column") + (x.left - left)) * x.x_step + variable("c") * x.c_step
    copy = Store(at(ys, pixel_element(y)), load(xs, element))
    return Kernel(
        schedule="copy",
        why="its readers cannot pad by themselves",
        proc=Proc(f"pad_{y.channels}_by_{y.width}", (xs, ys), (every_pixel(y, copy),)),
        summary=f"One row copied with its margins: {y.width} pixels of {y.channels} channels.",
        access=(RowAccess(stride=1, first=-top, count=1),),
    )


_KERNEL = OpKernel(wants=_wants, lower=_lower, dtypes=frozenset({DType.I8, DType.F32}))
KERNELS: Mapping[str, OpKernel] = {"pad": _KERNEL}
