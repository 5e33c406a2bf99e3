"""filter_bank: a sum over each channel's window. Neighbors, whose windows are similar, share a loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from aot.ir.types import Array, DType
from codegen.formats import RowFormat
from codegen.isa.plain.scalar_math import expression_function
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.row_nests import AxisVector, last_axis_kernel, last_axis_requests, operand
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Apply,
    Buffer,
    Const,
    Element,
    For,
    Index,
    Role,
    Stmt,
    Store,
    at,
    let,
    load,
    local,
)

_TOGETHER = 8  # channels per loop; fewer need less padding, more need less code
_SHARE = expression_function(
    "share",
    DType.U64,
    (DType.U32, DType.I32),
    "(uint64_t)a * (uint64_t)(int64_t)b",
    lambda a, b: int(a) * int(b) & (2**64 - 1),
)
_GROWN = expression_function(
    "grown_energy", DType.U64, (DType.U64, DType.U64), "a + b", lambda a, b: (int(a) + int(b)) & (2**64 - 1)
)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    weights = site.constants[2]
    blocks = list(_blocks(weights))
    packed = np.concatenate([weights[a:b, :width].reshape(-1) for a, b, width in blocks])
    dtype = _weights_dtype(packed)
    first = operand(site, 1, "first")
    ws = Buffer("w", dtype, packed.size, Role.CONSTANT)

    def body(x: AxisVector, y: AxisVector) -> Sequence[Stmt]:
        made, offset = [], 0
        for start, end, width in blocks:
            made.append(_block(x, first, ws, y, (start, end, width, offset)))
            offset += (end - start) * width
        return made

    kernel = last_axis_kernel(site, inputs, output, body, "the channels", (first, ws))
    return replace(kernel, constants={**kernel.constants, "w": packed.astype(dtype.numpy)})


def _weights_dtype(packed: Array) -> DType:
    """Returns the narrowest type that holds the weights."""
    if packed.dtype.kind == "f":
        return DType.F32
    low, high = DType.I16.limits
    return DType.I16 if low <= packed.min() and packed.max() <= high else DType.I32


def _blocks(weights: Array) -> Iterator[tuple[int, int, int]]:
    """Yields (first channel, end channel, number of weights) without trailing zeros."""
    for start in range(0, len(weights), _TOGETHER):
        part = weights[start : start + _TOGETHER]
        used = np.flatnonzero(part.any(axis=0))
        yield start, start + len(part), int(used[-1]) + 1 if used.size else 1


def _block(x: AxisVector, first: Buffer, ws: Buffer, y: AxisVector, block: tuple[int, int, int, int]) -> Stmt:
    start, end, width, offset = block
    c, k, dtype = variable("c"), variable("k"), y.buffer.dtype
    total = local("total", dtype)
    place = load(first, c + start) + Index(k)
    energy = Element(x.at(0), place if x.step == 1 else place * x.step)
    weight = load(ws, c * width + k + offset)
    is_f32 = dtype is DType.F32
    share = energy * weight if is_f32 else Apply(_SHARE, (energy, weight))
    grown = load(total) + share if is_f32 else Apply(_GROWN, (load(total), share))
    lines: tuple[Stmt, ...] = (
        *let(total, Const(0.0 if is_f32 else 0)),
        For("k", width, (Store(at(total), grown),)),
        Store(y.at(c + start), load(total)),
    )
    return For("c", end - start, lines)


KERNEL = OpKernel((Strategy("plain", last_axis_requests, _lower),), frozenset(DType))
