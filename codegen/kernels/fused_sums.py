"""Fused multiply-add for floats on an FPU.

It runs after all scheduling, because schedules match sums.
"""

from __future__ import annotations

from dataclasses import replace

from aot.ir.types import DType
from codegen.isa.plain.f32 import FUSED
from codegen.kernels.kernel import Kernel
from codegen.loops.ir import Accumulate, Apply, Binary, For, Load, Proc, Stmt, Store


def with_fused_sums(kernel: Kernel) -> Kernel:
    """Returns the kernel with each sum of a product as one instruction."""
    return kernel.with_loops(_fused)


def _fused(proc: Proc) -> Proc:
    return replace(proc, body=tuple(map(_fused_stmt, proc.body)))


def _fused_stmt(stmt: Stmt) -> Stmt:
    match stmt:
        case For(_, _, body):
            return replace(stmt, body=tuple(map(_fused_stmt, body)))
        case Accumulate(place, Binary("*", left, right)) if place.buffer.dtype is DType.F32:
            return Store(place, Apply(FUSED, (left, right, Load(place))))
    return stmt
