"""Requests and loops of kernels that process whole tensors as flat memory in one step."""

from __future__ import annotations

from collections.abc import Sequence

from aot.ir.types import TensorType
from codegen.formats import RowRequest, whole
from codegen.kernels.kernel import Kernel, RowAccess, Site
from codegen.loops.ir import Binary, Buffer, Const, Expr, Proc, Role, Stmt


def flat_requests(site: Site) -> tuple[RowRequest | None, ...]:
    """Requests contiguous operands."""
    return tuple(whole(site.input(i)) for i in _moving(site))


def _moving(site: Site) -> list[int]:
    first = 1 if site.in_place else 0  # the result is in the first one's memory
    return [i for i in range(first, len(site.inputs)) if i not in site.constants]


def operand(site: Site, position: int, name: str) -> Buffer:
    """Returns an input as one array, constant or not."""
    tensor = site.input(position)
    role = Role.CONSTANT if position in site.constants else Role.ROWS
    return Buffer(name, tensor.dtype, tensor.elements, role)


def result(site: Site) -> Buffer:
    out = site.outputs[0]
    return Buffer("y", out.dtype, out.elements, Role.OUTPUT)


def flat_kernel(site: Site, operands: Sequence[Buffer], body: Sequence[Stmt], what: str) -> Kernel:
    """Returns the kernel. `operands` has a buffer for each input that is passed, in order."""
    sizes, part = sizes_text(site.outputs[0]), "_in_place" if site.in_place else ""
    return Kernel(
        schedule="flat",
        why="over whole tensors",
        proc=Proc(f"{site.node.op.name}_{sizes}{part}", (*operands, result(site)), tuple(body)),
        summary=f"All of {what}: {sizes} elements.",
        access=(RowAccess(stride=1, first=0, count=1),) * len(_moving(site)),
        constants={
            operands[i - site.in_place].name: array.reshape(-1) for i, array in site.constants.items()
        },
        whole=True,
    )


def sizes_text(tensor: TensorType) -> str:
    return "x".join(map(str, tensor.shape)) or "1"


def within(number: Expr, size: int) -> Expr:
    """Clamps an index to the valid range."""
    from_front = Binary("max", number, Const(0))
    return Binary("min", from_front, Const(size - 1))
