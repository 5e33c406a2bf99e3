"""rearrange: one row selected from one row, or a vector from another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aot.ir.types import DType, TensorType, dense_strides
from aot.ops.op import Op
from aot.ops.rearrange import Loops, Rearrange, RowPicks, RowSpread, is_vector, row_spread
from codegen.formats import Geometry, RowFormat, RowRequest, geometry, storage_dtype
from codegen.kernels.kernel import Kernel, RowAccess, Site, SpreadResult
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
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import Buffer, For, Load, Proc, Role, Stmt, Store, at, load


def _op(site: Site) -> Rearrange:
    return site.op_as(Rearrange)


def _requests(site: Site) -> tuple[RowRequest | None, ...]:
    if _is_flat(site) and not site.spreads:
        return flat_requests(site)
    if _takes_whole_rows(site):
        return (None,)
    return (RowRequest(dtype_bytes=site.input(0).dtype.bytes),)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    spread = row_spread(_op(site).loops, inputs[0].width * inputs[0].channels) if site.spreads else None
    if spread is not None:
        return _spread(site, spread, inputs[0])
    if _is_flat(site):
        return _flat(site)
    (x,), y, op = inputs, output, _op(site)
    picks = op.picks(site.input(0))
    count = 1 if picks is None else picks.count
    xs = Buffer("x", storage_dtype(site.input(0), x), x.row_elements, Role.ROWS, count)
    ys = Buffer("y", storage_dtype(site.outputs[0], y), y.row_elements, Role.OUTPUT)
    if picks is None:
        body: Stmt = _vector(op.loops.merged(), xs, x, ys, y)
        access = RowAccess(stride=1, first=0, count=1)
    else:
        picked = (
            load(xs, pixel_element(x))
            if _takes_whole_rows(site)
            else _picked(op, picks, xs, x, geometry(site.input(0)))
        )
        body = every_pixel(y, Store(at(ys, pixel_element(y)), picked))
        access = RowAccess(picks.stride, picks.first, picks.count, picks.step)
    return Kernel(
        strategy="copy",
        why="its only strategy" if picks is None else "row by row",
        proc=Proc(f"rearrange_{y.channels}_by_{y.width}", (xs, ys), (body,)),
        summary=f"One row rearranged: {y.said}.",
        access=(access,),
    )


def _is_flat(site: Site) -> bool:
    """Returns True if it works neither row by row nor from one vector to another."""
    x, out = site.input(0), site.outputs[0]
    return _op(site).picks(x) is None and not (is_vector(x) and is_vector(out))


def _takes_whole_rows(site: Site) -> bool:
    """Returns True if each row of the result is a row of the input, which may then have any format."""
    op, x, out = _op(site), site.input(0), site.outputs[0]
    picks = op.picks(x)
    if picks is None or picks.count > 1 or x.shape[2:] != out.shape[2:] or site.spreads:
        return False
    width, channels = x.shape[2:]
    begins = op.offset == picks.first * width * channels
    return begins and (width == 1 or op.strides[2] == channels) and (channels == 1 or op.strides[3] == 1)


def can_spread(op: Op, x: TensorType) -> bool:
    """Returns True if each row of x can be scattered to its places in the result on arrival."""
    if not isinstance(op, Rearrange) or op.picks(x) is not None:
        return False
    g = geometry(x)
    return row_spread(op.loops, g.width * g.channels) is not None


def _spread(site: Site, spread: RowSpread, x: RowFormat) -> Kernel:
    """Returns the kernel. The result pointer of each row points to the destination of its first element."""
    nest = StridedNest(spread.sizes, (spread.sources, spread.targets)).merged()
    reach = 1 + sum((size - 1) * to for size, to in zip(spread.sizes, spread.targets, strict=True))
    xs = Buffer("x", storage_dtype(site.input(0), x), x.row_elements, Role.ROWS)
    ys = Buffer("y", site.outputs[0].dtype, reach, Role.OUTPUT)
    source = nest.element(0) + (spread.offset + x.left * x.x_step)
    copy = Store(at(ys, nest.element(1)), load(xs, source))
    return Kernel(
        strategy="spread",
        why="each row is scattered on arrival",
        proc=Proc(f"spread_{x.channels}_by_{x.width}", (xs, ys), nest.loops(copy)),
        summary=f"One row put to its places in a whole: {x.said}.",
        access=(RowAccess(spread.stride, spread.first, 1),),
        spread=SpreadResult(spread.steps, spread.apart, spread.group, spread.within),
    )


def _picked(op: Rearrange, picks: RowPicks, xs: Buffer, x: RowFormat, g: Geometry) -> Load:
    """Returns the element of a column and channel. If several rows are read, each channel has a row."""
    first = op.offset - picks.first * g.width * g.channels + x.left * x.x_step
    element = variable("column") * op.strides[2] + first
    if picks.count > 1:
        return load(xs, element, variable("c"))
    return load(xs, element + variable("c") * op.strides[3])


def _flat(site: Site) -> Kernel:
    loops = _op(site).loops.merged()
    nest = StridedNest(loops.sizes, (loops.strides, dense_strides(loops.sizes)))
    xs, ys = operand(site, 0, "x"), result(site)
    copy = Store(at(ys, nest.element(1)), load(xs, nest.element(0) + loops.offset))
    return flat_kernel(site, (xs,), nest.loops(copy), "a rearrangement")


def _vector(loops: Loops, xs: Buffer, x: RowFormat, ys: Buffer, y: RowFormat) -> Stmt:
    source, target = Affine(constant=loops.offset), Affine()
    inner = 1
    names = [f"i{axis}" for axis in range(len(loops.sizes))]
    for name, size, stride in reversed(list(zip(names, loops.sizes, loops.strides, strict=True))):
        source, target = source + variable(name) * stride, target + variable(name) * inner
        inner *= size
    body: Stmt = Store(
        at(ys, target * y.c_step + y.left * y.x_step), load(xs, source * x.c_step + x.left * x.x_step)
    )
    for name, size in reversed(list(zip(names, loops.sizes, strict=True))):
        body = For(name, size, (body,))
    return body


_STRATEGY = Strategy("plain", _requests, _lower, reads_image_rows=lambda site: site.spreads)
_KERNEL = OpKernel((_STRATEGY,), frozenset(DType))
KERNELS: Mapping[str, OpKernel] = {"rearrange": _KERNEL}
