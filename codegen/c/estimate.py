"""Estimates code size without a compiler, from loop nests and layers.

The estimate is within 15 % of gcc 12.2 for the cases in benchmarks/results.json; see benchmarks/estimates.md
for all. `deploy build` and `deploy bench` measure the exact size of a build.
"""

from __future__ import annotations

from aot.target import Target
from codegen.c.kernel_library import KernelLibrary
from codegen.c.layers import RunCode
from codegen.c.part_sizes import (
    FloatHardware,
    PartBytes,
    core_kind,
    estimate_bytes,
    estimate_helper_bytes,
    library_bytes,
    library_calls,
    uses_float,
)
from codegen.c.stack_size import has_floats
from codegen.c.tensor_rows import ROW_PARAMETER
from codegen.c.tree import DefinePointers, FunctionCall, FunctionDefinition, If, Name
from codegen.c.tree_walk import walk

# A pointer to a row is computed and stored; those of small windows are part of what a layer takes.
_POINTER_BYTES, _FEW_POINTERS = 8, 4


def estimate_code_bytes(library: KernelLibrary, run: RunCode, target: Target) -> int:
    """Returns the code bytes of a model: kernels, layers, their order, what it uses of the C library.

    A build also has a startup and a main program, of startup_bytes() in the smallest firmware.
    """
    each = core_kind(target).parts
    tables = sum(len(part.table.numbers) for part in run.order.parts if part.table is not None)
    layers = sum(_layer_code_bytes(layer, each) for layer in run.functions)
    kernels = estimate_kernel_bytes(library, target)
    return round(kernels + layers + tables + _c_library_bytes(library, target, each))


def estimate_kernel_bytes(library: KernelLibrary, target: Target) -> int:
    each = core_kind(target).parts
    generated = sum(estimate_bytes(kernel.function, each) for kernel in library.kernels)
    helpers = estimate_helper_bytes(library.helpers.every, each)
    return round(generated + helpers) + sum(foreign.code_bytes for foreign in library.libraries)


def _layer_code_bytes(layer: FunctionDefinition, each: PartBytes) -> float:
    """Returns a layer's code bytes. Ring offsets are computed if it runs row by row, otherwise constant."""
    parts = tuple(walk(layer))
    if ROW_PARAMETER not in layer.params:
        return each.once_name * sum(isinstance(part, Name) for part in parts)
    arguments = sum(len(part.arguments) for part in parts if isinstance(part, FunctionCall))
    choices = sum(isinstance(part, If) for part in parts)
    pointers = sum(len(part.rows) for part in parts if isinstance(part, DefinePointers))
    many = _POINTER_BYTES * max(0, pointers - _FEW_POINTERS)
    return many + each.row_layer + each.row_argument * arguments + each.row_choice * choices


def _c_library_bytes(library: KernelLibrary, target: Target, each: PartBytes) -> float:
    """Returns the bytes of the C library's float functions, and of functions that replace an FPU."""
    called, floats = library_calls(library.helpers.every), FloatHardware.of(target)
    is_real = bool(called) or any(has_floats(kernel.function) for kernel in library.kernels)
    computed = each.functions * (floats is FloatHardware.NONE and uses_float(called))
    return library_bytes(called, floats) * each.library + is_real * each.floats + computed
