"""Estimates stack without a compiler: the chain of calls to the kernel with the largest frame.

A function keeps values in registers, saves its caller's for that, and spills the rest to the stack. So its
stack grows with the values that are live at once (`live_values.py`), and with its loops, which add advancing
pointers. The growth depends on the kind of core (`core_kinds.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from aot.ir.graph import Graph
from aot.target import Feature, Optimize, Target
from codegen.c.kernel_function import HALF_PARAMETER, KernelFunction
from codegen.c.kernel_library import KernelLibrary, collect_helpers
from codegen.c.order import counter_type, is_loop, ordered_parts
from codegen.c.part_sizes import ANGLES, INTERRUPTS, StackBytes, core_kind, library_calls, library_stack_bytes
from codegen.c.tree import (
    Braces,
    DeclareArray,
    DeclareVariables,
    Define,
    DefinePointers,
    DefineTable,
    ForLoop,
    FunctionDefinition,
    If,
    InstructionCall,
    Linear,
    Name,
    Stmt,
    SwitchStatement,
)
from codegen.c.tree_walk import Node, helpers_of, walk
from codegen.isa.table import isas
from codegen.loops.ir import Instruction, Role

# Kinds of values by C type, as far as registers and float functions depend on them.


_FLOATS = ("float", "const float")  # prefixes of float types, including pointers and vectors


class ValueKind(Enum):
    """The kind of register that holds a value."""

    WHOLE = "integers and pointers"
    REAL = "floats"
    VECTOR = "vectors"


def kind_of(c_type: str) -> ValueKind:
    if "*" in c_type:
        return ValueKind.WHOLE
    if "x" in c_type:  # as in int32x4_t
        return ValueKind.VECTOR
    return ValueKind.REAL if c_type.startswith(_FLOATS) else ValueKind.WHOLE


def has_floats(node: Node) -> bool:
    """Returns True if the tree contains a float or a pointer to floats."""
    return any(getattr(part, "c_type", "").startswith(_FLOATS) for part in walk(node))


# Counts the values that are live at once in a function, which its compiler needs registers for.
#
# A value is live from its first mention to its last, and through a whole loop that it enters from outside.
# Inline assembly needs registers besides its operands.


@dataclass(frozen=True, slots=True)
class LiveValues:
    """The maximum number of live values, separately for each kind."""

    whole: int  # integers and pointers
    floats: int
    vectors: int


def live_values(function: FunctionDefinition) -> LiveValues:
    lives = _Lives()
    for param in function.params:
        lives.begin(param.name, param.c_type)
    lives.block(function.body)
    return LiveValues(*map(lives.most, ValueKind))


@dataclass
class _Lives:
    """Walks statements in textual order and numbers positions."""

    place: int = 0
    kinds: dict[str, ValueKind] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    depths: dict[str, int] = field(default_factory=dict)  # loops around the first mention
    declared: dict[str, str] = field(default_factory=dict)  # C types of variables not mentioned yet
    loops: list[set[str]] = field(default_factory=list)  # values used in each loop from outside
    ended: list[tuple[ValueKind, int, int]] = field(default_factory=list)  # names that were used again
    beside: Counter[int] = field(default_factory=Counter)  # registers of inline assembly, by position

    def begin(self, name: str, c_type: str) -> None:
        if name in self.kinds:
            self.ended.append((self.kinds[name], self.first[name], self.last[name]))
        self.kinds[name] = kind_of(c_type)
        self.first[name] = self.last[name] = self.place
        self.depths[name] = len(self.loops)

    def block(self, body: tuple[Stmt, ...]) -> None:
        for stmt in body:
            self.place += 1
            self._statement(stmt)

    def _statement(self, stmt: Stmt) -> None:
        match stmt:
            case ForLoop():
                self._loop(stmt)
            case If(condition, then, otherwise):
                self._mention(condition)
                self.block(then)
                self.block(otherwise)
            case Braces(body):
                self.block(body)
            case SwitchStatement(value, cases):
                self._mention(value)
                for _, body in cases:
                    self.block(body)
            case DeclareVariables(c_type, names, _):
                self.declared |= dict.fromkeys(names, c_type)
            case Define(variable, value):
                self._mention(value)
                self.begin(variable.name, variable.c_type)
            case DefinePointers(_, rows):
                self._mention(rows)
            case DeclareArray() | DefineTable():
                pass
            case InstructionCall():
                self._mention(stmt)
                self.beside[self.place] = stmt.helper.own_registers
            case _:
                self._mention(stmt)

    def _loop(self, loop: ForLoop) -> None:
        self.begin(loop.var, loop.c_type or "int32_t")
        self._mention((loop.first, loop.count))
        self.loops.append({loop.var})
        self.block(loop.body)
        self.place += 1
        for name in self.loops.pop():
            self.last[name] = self.place

    def _mention(self, node: Node) -> None:
        for part in walk(node):
            if isinstance(part, Name):
                self._use(part.name)
            elif isinstance(part, Linear):
                for variable, _ in part.terms:
                    self._use(variable)

    def _use(self, name: str) -> None:
        if name in self.declared:
            self.begin(name, self.declared.pop(name))
        if name not in self.first:
            return
        self.last[name] = max(self.last[name], self.place)
        if self.depths[name] < len(self.loops):
            self.loops[self.depths[name]].add(name)

    def most(self, kind: ValueKind) -> int:
        lives = [*self.ended, *((its, self.first[name], self.last[name]) for name, its in self.kinds.items())]
        changes: Counter[int] = Counter()
        for first, last in ((first, last) for its, first, last in lives if its == kind):
            changes[first] += 1
            changes[last + 1] -= 1
        places = sorted({*changes, *self.beside})
        now, found = 0, 0
        for place in places:
            now += changes[place]
            found = max(found, now + self.beside[place] * (kind is ValueKind.WHOLE))
        return found


_FREE_VALUES = 3  # in registers that no function saves
_FREE_VECTORS, _VECTOR_BYTES = 4, 16
_MOST_REALS = 16  # float registers that a function saves
_MOST_ARGUMENTS = 4  # in registers
_FEW_LOOPS = 2
_ALIGN = 8
_WORD = 4  # bytes of a pointer for which the factors were fitted
_LARGE_ANGLES_BYTES = 520  # the C library's sine and cosine reduce their argument to many digits
_RUN_BYTES, _RUN_BYTES_OF_LOOPS, _RUN_BYTES_OF_TABLES = 16, 24, 40
_HANDED_OVER_BYTES = 48  # by the hand-over to the other core, between the layer and its half
# A layer that runs row by row computes the pointers to its rows together: those beyond the registers are kept
# beside the array, too.
_POINTERS_IN_REGISTERS, _SPILLED_POINTER_BYTES = 10, 14
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
        found += _SPILLED_POINTER_BYTES * max(0, pointers - _POINTERS_IN_REGISTERS)
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
            found += _saved_bytes(self.calls, live.vectors)
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


def _saved_bytes(calls: Sequence[Instruction], vectors: int) -> int:
    """Returns the registers that a function saves because it uses an instruction set, in bytes.

    `vectors` are live in its C; assembly that states how many vectors it uses needs no more saved.
    """
    needs = {need for call in calls for need in call.needs}
    all_of_them = max((isa.saved_bytes for isa in isas() if isa.needs <= needs), default=0)
    if vectors or not all(call.own_vectors for call in calls):
        return all_of_them
    most = max((call.own_vectors for call in calls), default=0)
    return min(all_of_them, _VECTOR_BYTES * max(0, most - _FREE_VECTORS))


def _depth(node: object) -> int:
    """Returns the depth of nested loops."""
    if isinstance(node, tuple):
        return max(map(_depth, node), default=0)
    inner = (_depth(getattr(node, name, ())) for name in ("body", "then", "otherwise"))
    return max(inner) + isinstance(node, ForLoop)
