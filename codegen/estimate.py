"""Code and stack before there is a compiler: estimates, from what the loop nests and layers consist of.

The factors were fitted to builds of the MLPerf Tiny models by gcc 12.2 for Cortex-M4 and M3; they hold to
about a fifth. What a build really takes is measured by `deploy build` and `deploy bench`.
"""

from __future__ import annotations

from collections.abc import Iterable

from aot.plan.model import Plan
from codegen.kernel_library import KernelLibrary
from codegen.layers import RunText
from codegen.loops.ir import Declare, For, Invoke, Proc, Role, Stmt
from codegen.order_text import ordered_parts

_BYTES_PER_INSTRUCTION = 3.9
_BYTES_PER_STATEMENT = 12
_BYTES_PER_ROW_POINTER = 40  # a place in a ring, by multiplication
_BYTES_OF_START = 1800  # startup, C library, entry
_STACK_BYTES_OF_CALLS = 280  # run, order, layer and kernel with all registers saved


def estimate_code_bytes(library: KernelLibrary, run: RunText, plan: Plan) -> int:
    statements = instructions = 0
    for proc in library.procs:
        for stmt in _every(proc.body):
            statements += 1
            instructions += stmt.instruction.machine_instructions if isinstance(stmt, Invoke) else 0
    pointers = sum(layer.count("row_of_") for layer in run.layers)
    tables = sum(len(part) for part in ordered_parts(plan.order) if len(set(part)) > 1)
    code = instructions * _BYTES_PER_INSTRUCTION + statements * _BYTES_PER_STATEMENT
    return round(code) + pointers * _BYTES_PER_ROW_POINTER + tables + _BYTES_OF_START


def estimate_stack_bytes(library: KernelLibrary, stages: int, pointer_bytes: int) -> int:
    """The calls, the row counters, and the hungriest kernel's row pointers and arrays."""
    kernels = [_row_pointers(proc) * pointer_bytes + _array_bytes(proc) for proc in library.procs]
    return _STACK_BYTES_OF_CALLS + stages + max(kernels, default=0)


def _row_pointers(proc: Proc) -> int:
    return sum(p.rows for p in proc.params if p.role is Role.ROWS)


def _array_bytes(proc: Proc) -> int:
    declared = [s.buffer for s in _every(proc.body) if isinstance(s, Declare)]
    return sum(buffer.elements * buffer.dtype.bytes for buffer in declared)


def _every(body: Iterable[Stmt]) -> Iterable[Stmt]:
    for stmt in body:
        yield stmt
        if isinstance(stmt, For):
            yield from _every(stmt.body)
