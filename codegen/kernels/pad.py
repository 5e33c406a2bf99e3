"""pad: copies a row with the padding that its format already has, or pads over flat memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aot.ir.types import DType, dense_strides
from aot.ops.pad import Pad
from codegen.formats import RowFormat, RowRequest, storage_dtype
from codegen.kernels.kernel import Kernel, RowAccess, Site
from codegen.kernels.row_nests import (
    StridedNest,
    every_pixel,
    flat_kernel,
    flat_requests,
    operand,
    pixel_element,
    result,
)
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import variable
from codegen.loops.ir import Buffer, Const, For, Proc, Role, Store, at, load


def _op(site: Site) -> Pad:
    return site.op_as(Pad)


def _requests(site: Site) -> tuple[RowRequest | None, ...]:
    (top, bottom), (left, right) = _op(site).padding
    if not _has_padding(site):
        return flat_requests(site)
    size, fill = site.input(0).dtype.bytes, int(_op(site).value)
    return (RowRequest(dtype_bytes=size, left=left, right=right, top=top, bottom=bottom, fill=fill),)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    if not _has_padding(site):
        return _flat(site)
    (x,), y, ((top, _), (left, _)) = inputs, output, _op(site).padding
    xs = Buffer("x", storage_dtype(site.input(0), x), x.row_elements, Role.ROWS)
    ys = Buffer("y", storage_dtype(site.outputs[0], y), y.row_elements, Role.OUTPUT)
    element = (variable("column") + (x.left - left)) * x.x_step + variable("c") * x.c_step
    copy = Store(at(ys, pixel_element(y)), load(xs, element))
    return Kernel(
        strategy="copy",
        why="its readers cannot pad",
        proc=Proc(f"pad_{y.channels}_by_{y.width}", (xs, ys), (every_pixel(y, copy),)),
        summary=f"One row copied with its padding: {y.said}.",
        access=(RowAccess(stride=1, first=-top, count=1),),
    )


def _has_padding(site: Site) -> bool:
    """Returns True if the format of rows can have this padding value."""
    value = _op(site).value
    return (
        site.input(0).dtype in (DType.I8, DType.I16, DType.F32) and abs(value) < 2**24 and value == int(value)
    )


def _flat(site: Site) -> Kernel:
    """Fills the result with the value, then copies the image."""
    x, out, ((top, _), (left, _)) = site.input(0), site.outputs[0], _op(site).padding
    xs, ys = operand(site, 0, "x"), result(site)
    value = _op(site).value
    nest = StridedNest(x.shape, (dense_strides(x.shape), dense_strides(out.shape)))
    first = (top * out.shape[2] + left) * out.shape[3]
    fill = Store(at(ys, variable("i")), Const(value if out.dtype is DType.F32 else int(value)))
    copy = Store(at(ys, nest.element(1) + first), load(xs, nest.element(0)))
    return flat_kernel(site, (xs,), (For("i", out.elements, (fill,)), *nest.loops(copy)), "a padding")


_KERNEL = OpKernel((Strategy("plain", _requests, _lower),), frozenset(DType))
KERNELS: Mapping[str, OpKernel] = {"pad": _KERNEL}
