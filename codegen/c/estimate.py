"""Code and stack before there is a compiler: estimates, from what the loop nests and layers consist of.

The factors were fitted to builds of 57 models by gcc 12.2 for Cortex-M4: nine of ten are within a quarter.
What a build really takes is measured by `deploy build` and `deploy bench`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from codegen.c.function_size import estimate_bytes
from codegen.c.kernel_library import KernelLibrary
from codegen.c.layers import RunCode
from codegen.c.tensor_rows import ROW_PARAMETER
from codegen.c.tree import DeclareArray, DeclareVariables, FunctionDefinition, InstructionCall
from codegen.c.tree_walk import statements_of
from codegen.isa.table import isas
from codegen.loops.ir import Buffer, Role

_BYTES_OF_A_STEP = 29  # a statement of a layer that runs row by row: places in rings, by multiplication
_BYTES_OF_A_CALL = 16  # one of a layer that runs once: its pointers are known when it is compiled
_BYTES_OF_START = 1250  # startup, C library, entry
_STACK_BYTES_OF_CALLS = 288  # run, order, layer and kernel with all registers saved


def estimate_code_bytes(library: KernelLibrary, run: RunCode) -> int:
    tables = sum(len(order.table.numbers) for order in run.order.tables)
    by_row = [layer for layer in run.layers if ROW_PARAMETER in layer.params]
    steps, all_statements = _statements(by_row), _statements(run.layers)
    layers = steps * _BYTES_OF_A_STEP + (all_statements - steps) * _BYTES_OF_A_CALL
    return estimate_kernel_bytes(library) + layers + tables + _BYTES_OF_START


def _statements(functions: Iterable[FunctionDefinition]) -> int:
    return sum(1 for function in functions for _ in statements_of(function))


def estimate_kernel_bytes(library: KernelLibrary) -> int:
    generated = round(sum(estimate_bytes(kernel.function) for kernel in library.kernels))
    return generated + sum(each.code_bytes for each in library.libraries)


def estimate_stack_bytes(library: KernelLibrary, stages: int, pointer_bytes: int) -> int:
    """The calls, the row counters, and the hungriest kernel's row pointers and arrays."""
    kernels = [_row_pointers(k.buffers) * pointer_bytes + _local_bytes(k.function) for k in library.kernels]
    most = max((*kernels, library.library_stack_bytes))
    return _STACK_BYTES_OF_CALLS + _saved_bytes(library) + stages + most


def _saved_bytes(library: KernelLibrary) -> int:
    """The registers that functions save because they use the instructions of an instruction set."""
    statements = (stmt for kernel in library.kernels for stmt in statements_of(kernel.function))
    needs = {need for stmt in statements if isinstance(stmt, InstructionCall) for need in stmt.helper.needs}
    return max((isa.saved_bytes for isa in isas() if isa.needs <= needs), default=0)


def _row_pointers(buffers: Sequence[Buffer]) -> int:
    return sum(b.rows for b in buffers if b.role is Role.ROWS)


def _local_bytes(function: FunctionDefinition) -> int:
    found = 0
    for stmt in statements_of(function):
        match stmt:
            case DeclareVariables(_, names, each):
                found += len(names) * each
            case DeclareArray(_, _, length, each):
                found += length.value * each
    return found
