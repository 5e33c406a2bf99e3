"""Code and stack before there is a compiler: estimates, counted from the printed loop nests."""

from __future__ import annotations

from aot.plan.model import Plan
from codegen.kernel_library import KernelLibrary
from codegen.layers import ordered_parts
from codegen.loops.ir import Role
from codegen.lower import Lowered

# Thumb-2 bytes, fitted to gcc -O2 builds of the MLPerf Tiny models; within about a fifth of the truth.
_BYTES_PER_C_LINE = 7
_BYTES_PER_LAYER = 60
_BYTES_OF_ENTRY = 120
_STACK_BYTES_OF_CALLS = 200  # run, order, layer and kernel with all registers saved
_POINTER_BYTES = 4


def estimate_code_bytes(lowered: Lowered, library: KernelLibrary, plan: Plan) -> int:
    lines = sum(text.count("\n") for text in (*library.helpers, *library.kernels))
    tables = sum(len(part) for part in ordered_parts(plan.order) if len(set(part)) > 1)
    return lines * _BYTES_PER_C_LINE + len(lowered.stages) * _BYTES_PER_LAYER + tables + _BYTES_OF_ENTRY


def estimate_stack_bytes(lowered: Lowered) -> int:
    """The calls, the row counters, and the row pointers of the layer that takes most."""
    pointers = [
        sum(p.rows for p in stage.kernel.proc.params if p.role is Role.ROWS) for stage in lowered.stages
    ]
    return _STACK_BYTES_OF_CALLS + len(lowered.stages) + max(pointers, default=0) * _POINTER_BYTES
