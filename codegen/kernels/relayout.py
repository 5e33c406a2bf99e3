"""relayout: a row copied into another row format, for readers that request padding or wider elements."""

from __future__ import annotations

from aot.ir.types import Array, TensorType
from codegen.formats import RowFormat, storage_dtype
from codegen.kernels.kernel import Kernel, RowAccess
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import Buffer, For, Proc, Role, Store, at, load


def relayout(tensor: TensorType, source: RowFormat, target: RowFormat) -> Kernel:
    """Copies the pixels; the margins are filled when the target's memory is taken into use."""
    x = Buffer("x", storage_dtype(tensor, source), source.row_elements, Role.ROWS)
    y = Buffer("y", storage_dtype(tensor, target), target.row_elements, Role.OUTPUT)
    copy = Store(at(y, _place(target)), load(x, _place(source)))
    loops = For("column", source.width, (For("c", source.channels, (copy,)),))
    return Kernel(
        schedule="copy",
        why=f"its readers want {target.layout_said}",
        proc=Proc(f"copy_{source.channels}_by_{source.width}", (x, y), (loops,)),
        summary=f"One row copied: {source.said}, as {target.layout_said}.",
        access=(RowAccess(stride=1, first=0, count=1),),
    )


def copy_constant(tensor: TensorType, data: Array) -> Kernel:
    """A result that is the same whatever the inputs are."""
    x = Buffer("x", tensor.dtype, tensor.elements, Role.CONSTANT)
    y = Buffer("y", tensor.dtype, tensor.elements, Role.OUTPUT)
    element = variable("i")
    return Kernel(
        schedule="copy",
        why="its value is known beforehand",
        proc=Proc("copy", (x, y), (For("i", tensor.elements, (Store(at(y, element), load(x, element)),)),)),
        summary=f"{tensor.elements} elements copied.",
        access=(),
        constants={"x": data.reshape(-1)},
        whole=True,
    )


def copy_constant_rows(tensor: TensorType, data: Array, target: RowFormat) -> Kernel:
    """Rows that are the same whatever the inputs are, amid others that are not."""
    size = target.width * target.channels
    x = Buffer("x", tensor.dtype, tensor.elements, Role.CONSTANT)
    y = Buffer("y", storage_dtype(tensor, target), target.row_elements, Role.OUTPUT)
    copy = Store(at(y, _place(target)), load(x, variable("column") * target.channels + variable("c")))
    loops = For("column", target.width, (For("c", target.channels, (copy,)),))
    return Kernel(
        schedule="copy",
        why="its values are known beforehand",
        proc=Proc(f"copy_constant_{target.channels}_by_{target.width}", (x, y), (loops,)),
        summary=f"One row of constants copied: {target.said}.",
        access=(),
        constants={"x": data.reshape(-1)},
        row_tables={"x": size} if tensor.elements > size else {},
    )


def _place(fmt: RowFormat) -> Affine:
    return (variable("column") + fmt.left) * fmt.x_step + variable("c") * fmt.c_step
