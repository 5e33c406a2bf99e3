"""Estimates stack without a compiler: the chain of calls to the kernel with the largest frame.

A function keeps values in registers, saves its caller's for that, and spills the rest to the stack. So its
stack grows with the values that are live at once (`live_values.py`), and with its loops, which add advancing
pointers. The growth depends on the kind of core (`core_kinds.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aot.ir.graph import Graph
from aot.target import Feature, Optimize, Target
from codegen.c.c_types import has_floats
from codegen.c.helper_library import collect_helpers
from codegen.c.kernel_function import HALF_PARAMETER, KernelFunction
from codegen.c.kernel_library import KernelLibrary
from codegen.c.live_values import live_values
from codegen.c.order import counter_type, is_loop, ordered_parts
from codegen.c.part_sizes import ANGLES, INTERRUPTS, StackBytes, core_kind, library_calls, library_stack_bytes
from codegen.c.tree import ForLoop, FunctionDefinition, InstructionCall
from codegen.c.tree_walk import helpers_of, walk
from codegen.isa.table import isas
from codegen.loops.ir import Instruction, Role

_FREE_VALUES = 3  # in registers that no function saves
_MOST_REALS = 16  # float registers that a function saves
_MOST_ARGUMENTS = 4  # in registers
_FEW_LOOPS = 2
_ALIGN = 8
_WORD = 4  # bytes of a pointer for which the factors were fitted
_LARGE_ANGLES_BYTES = 520  # the C library's sine and cosine reduce their argument to many digits
_RUN_BYTES, _RUN_BYTES_OF_LOOPS, _RUN_BYTES_OF_TABLES = 16, 24, 40
_HANDED_OVER_BYTES = 48  # by the hand-over to the other core, between the layer and its half
_SHORT_INSTRUCTIONS = 12  # machine instructions; longer ones use more registers that need not be saved


def estimate_stack_bytes(
    library: KernelLibrary,
    rows: Sequence[int],
    order: Sequence[int],
    graph: Graph,
    target: Target,
    optimize: Optimize,
    is_streamed: bool,
) -> int:
    """Returns the stack of a run in firmware that measures it, as `deploy bench` paints it.

    `rows` is the number of rows of each stage, `order` the stages in the order of their steps.
    """
    each = core_kind(target).stack
    kernels = {kernel.function.name: kernel for kernel in library.kernels}
    looked = {name: _Kernel.of(kernel.function) for name, kernel in kernels.items()}
    below = {name: kernel.bytes(each, target, optimize) for name, kernel in looked.items()}
    counters, run = _in_stream(order) if is_streamed else _tables(order)
    own = [
        _table_bytes(counters.get(stage), each)
        + _layer_bytes(kernels[call.name], count > 1, each, target)
        + below[call.name]
        for stage, (count, calls) in enumerate(zip(rows, library.calls, strict=True))
        for call in calls
        if call.name in kernels
    ]
    foreign = library.library_stack_bytes + each.table * bool(counters)
    has_floats = any(kernel.is_real for kernel in looked.values())
    interrupt = _interrupt_bytes(has_floats, _work_of(graph), target)
    return round(each.beside + run + max((*own, foreign)) + interrupt)


def _tables(order: Sequence[int]) -> tuple[Mapping[int, int], int]:
    """Returns (bytes of row counters for each stage in a table, bytes of the run's function)."""
    counters: dict[int, int] = {}
    parts = ordered_parts(order)
    for part in (part for part in parts if not is_loop(part)):
        width = 1 if counter_type(part) == "uint8_t" else 2
        counters |= dict.fromkeys(part, width * (max(part) - min(part) + 1))
    if counters:
        return counters, _RUN_BYTES_OF_TABLES
    return counters, _RUN_BYTES_OF_LOOPS if any(len(part) > 1 for part in parts) else _RUN_BYTES


def _in_stream(order: Sequence[int]) -> tuple[Mapping[int, int], int]:
    """Returns the same for streaming: one table for all stages, with counters in memory that persists."""
    return dict.fromkeys(order, 0), _RUN_BYTES


def _table_bytes(counters: int | None, each: StackBytes) -> float:
    return 0 if counters is None else each.table + -(-counters // _ALIGN) * _ALIGN


def _layer_bytes(kernel: KernelFunction, is_by_rows: bool, each: StackBytes, target: Target) -> float:
    """Returns the stack of a layer's function: pointers to its kernel's rows, and stacked arguments."""
    pointers = sum(buffer.rows for buffer in kernel.buffers if buffer.role is Role.ROWS and buffer.rows > 1)
    found = each.layer + pointers * each.row_pointer * target.pointer_bytes / _WORD
    arguments = max(0, len(kernel.function.params) - _MOST_ARGUMENTS)
    if is_by_rows:
        found += each.layer_by_rows + arguments * each.stacked_argument
    else:
        found += arguments * each.argument
    return found + _HANDED_OVER_BYTES * (HALF_PARAMETER in kernel.function.params)


@dataclass(frozen=True, slots=True)
class _Kernel:
    """The facts about a kernel's function that the estimate needs."""

    function: FunctionDefinition
    calls: tuple[Instruction, ...]
    is_real: bool

    @staticmethod
    def of(function: FunctionDefinition) -> _Kernel:
        calls = tuple(part.helper for part in walk(function) if isinstance(part, InstructionCall))
        return _Kernel(function, calls, has_floats(function))

    def bytes(self, each: StackBytes, target: Target, optimize: Optimize) -> float:
        live, loops = live_values(self.function), _depth(self.function.body)
        found = each.value * max(0, live.whole - _FREE_VALUES) + each.real * min(live.floats, _MOST_REALS)
        found += each.loop * loops + each.inner_loop * max(0, loops - _FEW_LOOPS)
        found += each.c_instruction * any(call.is_c for call in self.calls)
        if live.vectors or any(call.machine_instructions > _SHORT_INSTRUCTIONS for call in self.calls):
            found += _saved_bytes(self.calls)
        found += max((call.stack_bytes for call in self.calls), default=0)
        return found + each.short_code * (optimize is Optimize.SIZE) + self._called_bytes(each, target)

    def _called_bytes(self, each: StackBytes, target: Target) -> float:
        helpers = collect_helpers(helpers_of(self.function)).every
        kept = [isinstance(helper, Instruction) for helper in helpers if not helper.is_inline]
        called = library_calls(helpers)
        found = each.instruction_function * any(kept) + each.function * (not all(kept))
        found += library_stack_bytes(called, each.library) + _LARGE_ANGLES_BYTES * bool(called & ANGLES)
        return found + each.soft_reals * (self.is_real and not target.has(Feature.FPU))


def _work_of(graph: Graph) -> int:
    """Returns the products and element-wise results of a run."""
    costs = [node.op.cost(graph.input_types(node), graph.output_types(node)) for node in graph.nodes]
    return sum(cost.macs + cost.elementwise for cost in costs)


def _interrupt_bytes(has_floats: bool, work: int, target: Target) -> int:
    """Returns the stack of an interrupt of a long run."""
    kinds = INTERRUPTS.get(target.machine, ())
    interrupt = next((each for each in kinds if each.is_of(target, has_floats)), None)
    return interrupt.bytes if interrupt is not None and work >= interrupt.least_work else 0


def _saved_bytes(calls: Sequence[Instruction]) -> int:
    """Returns the registers that a function saves because it uses an instruction set, in bytes."""
    needs = {need for call in calls for need in call.needs}
    return max((isa.saved_bytes for isa in isas() if isa.needs <= needs), default=0)


def _depth(node: object) -> int:
    """Returns the depth of nested loops."""
    if isinstance(node, tuple):
        return max(map(_depth, node), default=0)
    inner = (_depth(getattr(node, name, ())) for name in ("body", "then", "otherwise"))
    return max(inner) + isinstance(node, ForLoop)
