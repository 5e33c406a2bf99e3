"""One result per element of each operand, row by row, or over flat memory if rows do not match."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from aot.ir.types import Array, DType, TensorType, dense_strides
from codegen.formats import RowFormat, RowRequest, geometry, storage_dtype, whole
from codegen.kernels.kernel import Kernel, RowAccess, RowCycle, Site, piece_fits, row_cycle_of, row_fits
from codegen.kernels.row_nests import StridedNest, every_pixel, pixel_element, repeated_strides
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import variable
from codegen.loops.ir import Apply, Buffer, Expr, Load, Proc, Role, ScalarFunction, Stmt, Store, at, load

_NAMES = "abde"  # c is the channel
_MOST_VECTORS = 64
Prepared = Callable[[Site, int], Array]  # a constant operand, prepared for the function
Result = Callable[[Sequence[Load]], Expr]
_ANY = frozenset(DType)


@dataclass(frozen=True)
class _Operand:
    """An operand of the nest: rows of a tensor, or a constant with as few elements as possible."""

    buffer: Buffer
    value: Load
    access: RowAccess | None = None
    data: Array | None = None
    per_row: int = 0  # elements per row, if the constant's rows differ
    cycle: RowCycle | None = None  # of these rows, if they repeat


def as_stored(site: Site, position: int) -> Array:
    return site.constants[position]


def element_requests(site: Site) -> tuple[RowRequest | None, ...]:
    """Requests rows of any format if rows match, otherwise contiguous operands."""
    moving = [i for i in range(len(site.inputs)) if i not in site.constants]
    return tuple(None if goes_by_rows(site) else whole(site.input(i)) for i in moving)


def goes_by_rows(site: Site) -> bool:
    """Returns True if each row of the result needs one row of each operand."""
    out = site.outputs[0]
    return all(
        i in site.constants or _rows_match(site.input(i), out) for i in range(len(site.inputs))
    ) and _has_rows(out)


def _has_rows(out: TensorType) -> bool:
    """Returns True for images, and for tensors with few enough vectors to plan each one."""
    is_image = out.rank == 4 and out.shape[0] == 1
    return out.rank > 0 and out.dtype.bytes <= 4 and (is_image or geometry(out).rows <= _MOST_VECTORS)


def _rows_match(x: TensorType, out: TensorType) -> bool:
    shape = (1,) * (out.rank - x.rank) + x.shape
    if geometry(TensorType(x.dtype, shape)) != geometry(x):
        return False
    if out.rank == 4 and out.shape[0] == 1:
        return True
    return shape[:-1] == out.shape[:-1] or all(d == 1 for d in shape[:-1])


def element_kernel(
    site: Site,
    inputs: Sequence[RowFormat],
    output: RowFormat,
    result: Result,
    what: str,
    prepared: Prepared = as_stored,
) -> Kernel:
    """y = result(a, b, ...) for each element."""
    if not goes_by_rows(site):
        return _flat(site, result, what, prepared)
    operands = _row_operands(site, inputs, output, prepared)
    may_alias = any(operand.buffer.may_alias for operand in operands)
    dtype = storage_dtype(site.outputs[0], output)
    y = Buffer("y", dtype, output.row_elements, Role.OUTPUT, may_alias=may_alias)
    body = every_pixel(output, Store(at(y, pixel_element(output)), result([o.value for o in operands])))
    return _kernel(
        site,
        operands,
        y,
        (body,),
        f"{output.channels}_by_{output.width}",
        f"One row of {what}: {output.said}.",
    )


def applying(function: ScalarFunction) -> Result:
    return lambda values: Apply(function, tuple(values))


def element_op(
    function: Callable[[Site], ScalarFunction], what: Callable[[Site], str], dtypes: frozenset[DType] = _ANY
) -> OpKernel:
    """Returns the kernel of an op that is one function of the elements; `what` names its results."""

    def lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
        return element_kernel(site, inputs, output, applying(function(site)), what(site))

    return OpKernel((Strategy("plain", element_requests, lower),), dtypes)


def _kernel(
    site: Site,
    operands: Sequence[_Operand],
    y: Buffer,
    body: tuple[Stmt, ...],
    size: str,
    summary: str,
) -> Kernel:
    return Kernel(
        why="one at a time",
        proc=Proc(f"{site.node.op.name}_{size}", (*(o.buffer for o in operands), y), body),
        summary=summary,
        access=tuple(o.access for o in operands if o.access is not None),
        constants={o.buffer.name: o.data for o in operands if o.data is not None},
        row_tables={o.buffer.name: o.per_row for o in operands if o.per_row},
        row_cycles={o.buffer.name: o.cycle for o in operands if o.cycle is not None},
    )


def _flat(site: Site, result: Result, what: str, prepared: Prepared) -> Kernel:
    out = site.outputs[0]
    shapes = [site.input(i).shape for i in range(len(site.inputs))]
    nest = StridedNest(
        out.shape, (*(repeated_strides(s, out.shape) for s in shapes), dense_strides(out.shape))
    )
    nest = nest.merged()
    operands = [_flat_operand(site, i, nest, prepared) for i in range(len(shapes))]
    may_alias = any(operand.buffer.may_alias for operand in operands)
    y = Buffer("y", out.dtype, out.elements, Role.OUTPUT, may_alias=may_alias)
    store = Store(at(y, nest.element(len(shapes))), result([o.value for o in operands]))
    sizes = "x".join(map(str, out.shape)) or "1"
    summary = f"All of {what}: {sizes} elements."
    kernel = _kernel(site, operands, y, nest.loops(store), sizes, summary)
    return replace(kernel, strategy="flat", why="the operands' rows do not match", whole=True)


def _flat_operand(site: Site, position: int, nest: StridedNest, prepared: Prepared) -> _Operand:
    name, tensor = _NAMES[position], site.input(position)
    if position in site.constants:
        data = prepared(site, position).reshape(-1)
        buffer = Buffer(name, _dtype_of(data), data.size, Role.CONSTANT)
        return _Operand(buffer, load(buffer, nest.element(position)), data=data)
    may_alias = piece_fits(site, position)
    buffer = Buffer(name, tensor.dtype, tensor.elements, Role.ROWS, may_alias=may_alias)
    access = RowAccess(stride=1, first=0, count=1)
    return _Operand(buffer, load(buffer, nest.element(position)), access)


def _row_operands(
    site: Site, inputs: Sequence[RowFormat], output: RowFormat, prepared: Prepared
) -> tuple[_Operand, ...]:
    formats = iter(inputs)
    return tuple(
        _constant(name, prepared(site, i), site)
        if i in site.constants
        else _rows(name, site, i, next(formats), output)
        for i, name in enumerate(_NAMES[: len(site.inputs)])
    )


def _rows(name: str, site: Site, position: int, x: RowFormat, y: RowFormat) -> _Operand:
    dtype, may_alias = storage_dtype(site.input(position), x), row_fits(site, position, x, y)
    buffer = Buffer(name, dtype, x.row_elements, Role.ROWS, may_alias=may_alias)
    column = variable("column") * int(x.width == y.width) + x.left
    channel = variable("c") * int(x.channels == y.channels)
    same_rows = geometry(site.input(position)).rows == geometry(site.outputs[0]).rows
    access = RowAccess(stride=int(same_rows), first=0, count=1)
    return _Operand(buffer, load(buffer, column * x.x_step + channel * x.c_step), access)


def _constant(name: str, data: Array, site: Site) -> _Operand:
    """Returns a constant operand. Repeated rows, columns and channels are stored once."""
    g = geometry(site.outputs[0])
    every = np.broadcast_to(data, site.outputs[0].shape).reshape(g.rows, g.width, g.channels)
    for axis in range(3):
        first = every.take([0], axis)
        every = first if (every == first).all() else every
    every, cycle = _different_rows(every)
    rows, width, channels = every.shape
    buffer = Buffer(name, _dtype_of(every), every.size, Role.CONSTANT)
    place = variable("column") * (channels if width > 1 else 0) + variable("c") * int(channels > 1)
    per_row = width * channels if rows > 1 else 0
    return _Operand(buffer, load(buffer, place), data=every.reshape(-1), per_row=per_row, cycle=cycle)


def _different_rows(every: Array) -> tuple[Array, RowCycle | None]:
    """Removes rows that repeat in a cycle, such as a mask's for each attention head."""
    seen: dict[bytes, int] = {}
    numbers = [seen.setdefault(row.tobytes(), len(seen)) for row in every]
    cycle = row_cycle_of(numbers) if 1 < len(seen) < len(numbers) else None
    return (every, None) if cycle is None else (every[[numbers.index(n) for n in range(len(seen))]], cycle)


def _dtype_of(data: Array) -> DType:
    return next(dtype for dtype in DType if dtype.numpy == data.dtype)
