"""Code and stack before there is a compiler: estimates, from what the loop nests and layers consist of.

Code is within 15 % of what gcc 12.2 makes of the cases in benchmarks/results.json, but for two small ones;
stack is below what is painted in one case. benchmarks/estimates.md has all.
What a build really takes is measured by `deploy build` and `deploy bench`.
"""

from __future__ import annotations

from collections.abc import Sequence

from aot.target import Feature, Optimize, Target
from codegen.c.function_size import PartBytes, estimate_bytes, estimate_helper_bytes, part_bytes
from codegen.c.kernel_function import KernelFunction
from codegen.c.kernel_library import KernelLibrary
from codegen.c.layers import RunCode
from codegen.c.library_size import library_bytes, library_calls
from codegen.c.tensor_rows import ROW_PARAMETER
from codegen.c.tree import (
    AnyHelper,
    DeclareArray,
    DeclareVariables,
    ForLoop,
    FunctionCall,
    FunctionDefinition,
    If,
    InstructionCall,
    Name,
)
from codegen.c.tree_walk import helpers_of, statements_of, walk
from codegen.isa.table import isas
from codegen.loops.ir import Buffer, Role, ScalarFunction

# Of the stack, fitted to what 61 models paint on four boards: never below, for 8 of 9 at most half above.
# The entry, and what measures it: with the instructions of Arm that take words at any address; without.
_BYTES_OF_A_RUN, _BYTES_OF_OTHERS_RUNS = 83.3, 115.0
_BYTES_OF_A_ROW_COUNTER = 3.82
_BYTES_BESIDE_A_ROW_POINTER, _MOST_BESIDE = 16.5, 5  # registers that hold the first of them
_BYTES_OF_A_LOOP, _MOST_LOOPS = 28.2, 4  # registers kept; a function keeps no more than there are
_OF_LOCALS, _MOST_LOCAL_BYTES = 2.04, 64  # some twice, and above this many they are not all in use at once
_TILE_BYTES = 16  # with more locals a kernel has a tile in registers
_BYTES_OF_REAL_REGISTERS = 35  # s16 to s31
_BYTES_OF_SOFT_REALS, _BYTES_OF_OTHERS_SOFT_REALS = 65, 126  # Arm's functions, and those written in C
_BYTES_OF_LARGE_ANGLES = 300  # the C library's sine and cosine reduce their argument to many digits
_ANGLES = ("sinf(", "cosf(", "tanf(")
_OF_SHORT_CODE = 1.05  # -Os keeps more on the stack
_SAVED_BY_TILES, _SAVED_BY_ROWS = 0.83, 1.47  # so often are the registers of vectors saved


def estimate_code_bytes(library: KernelLibrary, run: RunCode, target: Target) -> int:
    """The code of firmware that only runs the model: kernels, layers, their order, startup, the C library."""
    each = part_bytes(target)
    tables = sum(len(order.table.numbers) for order in run.order.tables)
    layers = sum(_layer_code_bytes(layer, each) for layer in run.layers)
    kernels = estimate_kernel_bytes(library, target)
    return round(kernels + layers + tables + _c_library_bytes(library, each) + each.start)


def estimate_kernel_bytes(library: KernelLibrary, target: Target) -> int:
    each = part_bytes(target)
    generated = sum(estimate_bytes(kernel.function, each) for kernel in library.kernels)
    helpers = estimate_helper_bytes(library.helpers.every, each)
    return round(generated + helpers) + sum(foreign.code_bytes for foreign in library.libraries)


def _layer_code_bytes(layer: FunctionDefinition, each: PartBytes) -> float:
    """Places in rings are computed where a layer runs row by row, else known when it is compiled."""
    parts = tuple(walk(layer))
    if ROW_PARAMETER not in layer.params:
        return each.once_name * sum(isinstance(part, Name) for part in parts)
    arguments = sum(len(part.arguments) for part in parts if isinstance(part, FunctionCall))
    choices = sum(isinstance(part, If) for part in parts)
    return each.row_layer + each.row_argument * arguments + each.row_choice * choices


def _c_library_bytes(library: KernelLibrary, each: PartBytes) -> float:
    """The C library's functions of real numbers, and what stands in for an FPU."""
    called = library_calls(helper.definition for helper in library.helpers.every)
    is_real = bool(called) or any(_is_real(kernel.function) for kernel in library.kernels)
    return library_bytes(called) * each.library + is_real * each.reals


def estimate_stack_bytes(
    library: KernelLibrary, rows: Sequence[int], target: Target, optimize: Optimize
) -> int:
    """The calls down to the hungriest kernel and what is called there; `rows` are those of each stage."""
    kernels = {kernel.function.name: kernel for kernel in library.kernels}
    own = [
        _layer_bytes(kernels[call.name], count > 1, target)
        for count, calls in zip(rows, library.calls, strict=True)
        for call in calls
        if call.name in kernels
    ]
    order = _BYTES_OF_A_ROW_COUNTER * len(rows) if max(rows, default=1) > 1 else 0
    run = _BYTES_OF_A_RUN if target.has(Feature.UNALIGNED) else _BYTES_OF_OTHERS_RUNS
    calls = run + order + max((*own, library.library_stack_bytes))
    return round(calls * (_OF_SHORT_CODE if optimize is Optimize.SIZE else 1))


def _layer_bytes(kernel: KernelFunction, is_by_rows: bool, target: Target) -> float:
    """A layer's function, its kernel, and what that calls: registers kept, row pointers, locals."""
    locals_bytes = min(_local_bytes(kernel.function), _MOST_LOCAL_BYTES)
    depth = min(_depth(kernel.function), _MOST_LOOPS)
    found = _BYTES_OF_A_LOOP * depth + _OF_LOCALS * locals_bytes
    if is_by_rows:
        found += _pointers_bytes(_row_pointers(kernel.buffers), target.pointer_bytes)
    if _is_real(kernel.function):
        found += _real_bytes(kernel.function, locals_bytes > _TILE_BYTES, target)
    saved = _saved_bytes(kernel.function)
    return found + saved * (_SAVED_BY_TILES * (locals_bytes > _TILE_BYTES) + _SAVED_BY_ROWS * is_by_rows)


def _pointers_bytes(rows: int, pointer_bytes: int) -> float:
    return rows * pointer_bytes + _BYTES_BESIDE_A_ROW_POINTER * min(rows, _MOST_BESIDE)


def _real_bytes(function: FunctionDefinition, is_tile: bool, target: Target) -> int:
    """Counts what real numbers take: an FPU's registers, or the library's functions without one."""
    large = _BYTES_OF_LARGE_ANGLES if any(_has_angles(helper) for helper in helpers_of(function)) else 0
    if target.has(Feature.FPU):
        return large + (_BYTES_OF_REAL_REGISTERS if is_tile else 0)
    return large + (_BYTES_OF_SOFT_REALS if target.has(Feature.UNALIGNED) else _BYTES_OF_OTHERS_SOFT_REALS)


def _is_real(function: FunctionDefinition) -> bool:
    return any(getattr(part, "c_type", "").startswith(("float", "const float")) for part in walk(function))


def _has_angles(helper: AnyHelper) -> bool:
    return isinstance(helper, ScalarFunction) and any(name in helper.definition for name in _ANGLES)


def _saved_bytes(function: FunctionDefinition) -> int:
    """The registers that a function saves because it uses the instructions of an instruction set."""
    calls = (stmt for stmt in statements_of(function) if isinstance(stmt, InstructionCall))
    needs = {need for call in calls for need in call.helper.needs}
    return max((isa.saved_bytes for isa in isas() if isa.needs <= needs), default=0)


def _depth(node: object) -> int:
    """The loops that are in each other."""
    if isinstance(node, tuple):
        return max(map(_depth, node), default=0)
    inner = (_depth(getattr(node, name, ())) for name in ("body", "then", "otherwise"))
    return max(inner) + isinstance(node, ForLoop)


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
