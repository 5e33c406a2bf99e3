"""filter_bank: a sum over each channel's window; neighbours, whose windows are alike, share a loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from aot.ir.types import Array, DType
from codegen.formats import RowFormat
from codegen.isa.plain.plain import expression_function
from codegen.kernels.flat import flat_kernel, flat_requests, operand, result
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.schedule import OpKernel, Schedule
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Apply,
    Binary,
    Buffer,
    Const,
    Declare,
    Element,
    For,
    Index,
    Role,
    Stmt,
    Store,
    at,
    load,
)

_TOGETHER = 8  # channels to a loop: less padding with fewer, less code with more
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
    limits = DType.I16.limits
    narrow = limits[0] <= packed.min() and packed.max() <= limits[1]
    dtype = DType.I16 if narrow else DType.I32
    xs, first, ys = operand(site, 0, "x"), operand(site, 1, "first"), result(site)
    ws = Buffer("w", dtype, packed.size, Role.CONSTANT)
    body, offset = [], 0
    for start, end, width in blocks:
        body.append(_block(xs, first, ws, ys, (start, end, width, offset)))
        offset += (end - start) * width
    kernel = flat_kernel(site, (xs, first, ws), body, "the channels")
    return replace(kernel, constants={**kernel.constants, "w": packed.astype(dtype.numpy)})


def _blocks(weights: Array) -> Iterator[tuple[int, int, int]]:
    """(first channel, behind the last, weights of each), without the zeros at the ends of all."""
    for start in range(0, len(weights), _TOGETHER):
        part = weights[start : start + _TOGETHER]
        used = np.flatnonzero(part.any(axis=0))
        yield start, start + len(part), int(used[-1]) + 1 if used.size else 1


def _block(xs: Buffer, first: Buffer, ws: Buffer, ys: Buffer, block: tuple[int, int, int, int]) -> Stmt:
    start, end, width, offset = block
    c, k = variable("c"), variable("k")
    total = Buffer("total", DType.U64, 1, Role.LOCAL)
    energy = Element(at(xs), Binary("+", load(first, c + start), Index(k)))
    share = Apply(_SHARE, (energy, load(ws, c * width + k + offset)))
    lines: tuple[Stmt, ...] = (
        Declare(total),
        Store(at(total), Const(0)),
        For("k", width, (Store(at(total), Apply(_GROWN, (load(total), share))),)),
        Store(at(ys, c + start), load(total)),
    )
    return For("c", end - start, lines)


KERNEL = OpKernel((Schedule("plain", flat_requests, _lower),), frozenset(DType))
