"""relayout: copies a row into another format, for readers that request padding or wider elements."""

from __future__ import annotations

from aot.ir.types import Array, TensorType
from codegen.formats import RowFormat, RowRequest, requested_format, storage_dtype
from codegen.kernels.kernel import Kernel
from codegen.kernels.row_nests import is_dense, pixel_element
from codegen.loops.affine import variable
from codegen.loops.ir import Buffer, For, Proc, Role, Store, at, load
from codegen.loops.schedule import unroll_by

_TURN = 4  # elements; the loop's overhead is then less than a third


def relayout(tensor: TensorType, source: RowFormat, target: RowFormat, why: str) -> Kernel:
    """Returns the kernel that copies the pixels. Padding is filled when memory is initialized."""
    x = Buffer("x", storage_dtype(tensor, source), source.row_elements, Role.ROWS)
    y = Buffer("y", storage_dtype(tensor, target), target.row_elements, Role.OUTPUT)
    return Kernel(
        strategy="copy",
        why=why,
        proc=_copied(x, y, source, target),
        summary=f"One row copied: {source.said}, as {target.layout_text}.",
    )


def lacking(tensor: TensorType, source: RowFormat, request: RowRequest) -> str:
    """Describes how the format that the request needs differs from the source's."""
    target = requested_format(tensor, request)
    padding = "padding" if _lacks_padding(tensor, source, request) else ""
    if target.layout_text != source.layout_text:
        return f"{target.layout_text} with padding" if padding else target.layout_text
    if request.whole:
        return "rows without gaps" if source != target else "a copy"
    is_short = source.row_elements < target.row_elements
    return padding or ("space after each row" if is_short else "a copy")


def _lacks_padding(tensor: TensorType, source: RowFormat, request: RowRequest) -> bool:
    if not request.has_padding:
        return False
    sides = ("left", "top", "bottom")
    is_less = any(getattr(source, side) < getattr(request, side) for side in sides)
    behind = source.width + request.right
    if source.c_step == 1:
        is_short = source.row_elements < (source.left + behind) * source.channels
    else:
        is_short = source.c_step < behind
    return is_less or is_short or source.fill != request.fill_of(tensor)


def _copied(x: Buffer, y: Buffer, source: RowFormat, target: RowFormat) -> Proc:
    """Widens elements in one loop, a few per iteration, if both rows are dense."""
    name = f"copy_{source.channels}_by_{source.width}"
    elements = source.width * source.channels
    is_flat = is_dense(source) and is_dense(target) and elements % _TURN == 0
    if not is_flat or x.dtype is y.dtype:  # C libraries copy bytes faster
        copy = Store(at(y, pixel_element(target)), load(x, pixel_element(source)))
        return Proc(name, (x, y), (For("column", source.width, (For("c", source.channels, (copy,)),)),))
    i = variable("i")
    copy = Store(at(y, i + target.left * target.x_step), load(x, i + source.left * source.x_step))
    return unroll_by(Proc(name, (x, y), (For("i", elements, (copy,)),)), "i", _TURN)


def copy_constant(tensor: TensorType, data: Array) -> Kernel:
    """Returns a kernel for a result that does not depend on the inputs."""
    x = Buffer("x", tensor.dtype, tensor.elements, Role.CONSTANT)
    y = Buffer("y", tensor.dtype, tensor.elements, Role.OUTPUT)
    element = variable("i")
    return Kernel(
        strategy="copy",
        why="its value is known at compile time",
        proc=Proc("copy", (x, y), (For("i", tensor.elements, (Store(at(y, element), load(x, element)),)),)),
        summary=f"{tensor.elements} elements copied.",
        access=(),
        constants={"x": data.reshape(-1)},
        whole=True,
    )


def copy_constant_rows(tensor: TensorType, data: Array, target: RowFormat) -> Kernel:
    """Returns a kernel for rows that do not depend on the inputs, among others that do."""
    size = target.width * target.channels
    x = Buffer("x", tensor.dtype, tensor.elements, Role.CONSTANT)
    y = Buffer("y", storage_dtype(tensor, target), target.row_elements, Role.OUTPUT)
    copy = Store(at(y, pixel_element(target)), load(x, variable("column") * target.channels + variable("c")))
    loops = For("column", target.width, (For("c", target.channels, (copy,)),))
    return Kernel(
        strategy="copy",
        why="its values are known at compile time",
        proc=Proc(f"copy_constant_{target.channels}_by_{target.width}", (x, y), (loops,)),
        summary=f"One row of constants copied: {target.said}.",
        access=(),
        constants={"x": data.reshape(-1)},
        row_tables={"x": size} if tensor.elements > size else {},
    )
