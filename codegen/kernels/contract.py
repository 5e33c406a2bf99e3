"""contract: loops over the result around the loops of the sum."""

from __future__ import annotations

from collections.abc import Sequence

from aot.ir.types import DType, dense_strides
from aot.ops.contract import Contract
from codegen.formats import RowFormat, RowRequest, whole
from codegen.kernels.kernel import Kernel, RowAccess, Site
from codegen.kernels.row_nests import StridedNest
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import Affine
from codegen.loops.ir import Buffer, Cast, Const, Expr, Proc, Role, Store, at, let, load, local


def _requests(site: Site) -> tuple[RowRequest | None, ...]:
    return tuple(whole(site.input(i)) for i in range(2) if i not in site.constants)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op = site.op_as(Contract)
    out, kept = site.outputs[0], len(op.sizes) - op.summed
    sizes, strides = op.sizes, (op.strides1, op.strides2)
    outer = StridedNest(sizes[:kept], (*(s[:kept] for s in strides), dense_strides(sizes[:kept]))).merged()
    inner = StridedNest(sizes[kept:], tuple(s[kept:] for s in strides)).merged()
    operands = [_buffer(site, i) for i in range(2)]
    wide = DType.I64 if site.input(0).dtype is DType.I32 else out.dtype
    total = local("sum", wide)
    y = Buffer("y", out.dtype, out.elements, Role.OUTPUT)

    def product(places: tuple[Affine, ...]) -> Expr:
        pairs = enumerate(zip(operands, places, strict=True))
        first, second = (_wide(load(b, outer.element(i) + place), b.dtype) for i, (b, place) in pairs)
        return first * second

    body = (
        *let(total, Const(0.0 if out.dtype is DType.F32 else 0)),
        *inner.summed(total, product, "k"),
        Store(at(y, outer.element(2)), load(total)),
    )
    return Kernel(
        strategy="sums",
        why="for any strides",
        proc=Proc(f"contract_{out.elements}", (*operands, y), outer.loops(*body)),
        summary=f"{out.elements} sums of {inner_steps(inner)} products.",
        access=(RowAccess(stride=1, first=0, count=1),) * (2 - len(site.constants)),
        constants={operands[i].name: data.reshape(-1) for i, data in site.constants.items()},
        whole=True,
    )


def inner_steps(nest: StridedNest) -> int:
    steps = 1
    for size in nest.sizes:
        steps *= size
    return steps


def _buffer(site: Site, position: int) -> Buffer:
    tensor = site.input(position)
    role = Role.CONSTANT if position in site.constants else Role.ROWS
    return Buffer("ab"[position], tensor.dtype, tensor.elements, role)


def _wide(element: Expr, dtype: DType) -> Expr:
    """Converts 32-bit integers to 64 bits for their products."""
    return Cast(DType.I64, element) if dtype is DType.I32 else element


KERNEL = OpKernel((Strategy("plain", _requests, _lower),), frozenset(DType))
