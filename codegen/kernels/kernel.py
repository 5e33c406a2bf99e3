"""A kernel: the loops that compute a row of a layer, with their constants and the rows that they access.

Its strategy makes it for a site, which is a node with everything that the kernel may depend on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TypeVar

from aot.ir.graph import Node
from aot.ir.types import Array, DType, TensorType
from aot.ops.op import Op
from aot.plan.model import ANY_POOL
from aot.target import Feature, Optimize, Target
from codegen.formats import RowFormat, geometry
from codegen.isa.plain.scalar_math import ScalarMath
from codegen.kernels.knobs import Point, Space
from codegen.loops.ir import Buffer, Proc, Role
from codegen.loops.pack import Packing

T = TypeVar("T", bound=Op)

WORD = 4
MOST_ALIGN = 64  # a cache line; arenas of all platforms can have this alignment


@dataclass(frozen=True, slots=True)
class MemoryDemand:
    """The alignment that a kernel's buffers need, and the memories that it can access.

    The caller's buffers, inputs and outputs of the model, have no guaranteed alignment. A kernel with a
    demand gets a copy. The distance of rows follows from their format.
    """

    align: int = WORD  # a power of two; for tensors, scratch and constants
    memories: frozenset[str] = ANY_POOL  # names of the board, for tensors and scratch; empty: all

    def __post_init__(self) -> None:
        if not WORD <= self.align <= MOST_ALIGN or self.align & (self.align - 1):
            raise ValueError(
                f"alignment must be a power of two from {WORD} to {MOST_ALIGN}, not {self.align}"
            )


ANYWHERE = MemoryDemand()


@dataclass(frozen=True)
class Site:
    """A node with everything a kernel may specialize on."""

    node: Node
    inputs: tuple[TensorType | None, ...]
    outputs: tuple[TensorType, ...]
    constants: Mapping[int, Array]  # by input position
    target: Target
    math: ScalarMath  # functions that its core has instructions for
    optimize: Optimize
    allow_widened_rows: bool  # if they are faster than rows in the stored type
    tuned: Mapping[str, Point]  # by task
    unpadded: bool = False  # rows have no padding if the kernel can do without
    is_plain: bool = False  # loops stay unscheduled
    is_brief: bool = False  # short code counts more than time
    compact: bool = False  # weights are stored in their own width
    spreads: bool = False  # each input row is scattered to its places in the result on arrival
    for_any_weights: bool = False  # the code must not depend on the values of the weights
    half_weights: bool = False  # weights that float16 represents exactly are stored in 16 bits
    cores: int = 1  # that compute the rows of a layer in parts, unless its kernel has scratch
    in_place: bool = False  # the result is in the memory of the first input, which is not passed

    def op_as(self, kind: type[T]) -> T:
        """Returns the op, which the caller knows to be of that kind."""
        return self.node.op_as(kind)

    def input(self, position: int) -> TensorType:
        found = self.inputs[position]
        assert found is not None, f"{self.node.name} has no input {position}"
        return found

    @property
    def macs(self) -> int:
        return self.node.op.cost(self.inputs, self.outputs).macs


@dataclass(frozen=True, slots=True)
class RowCycle:
    """Rows that repeat in a cycle, each for some steps."""

    each: int
    rows: int

    def of(self, step: int) -> int:
        return step // self.each % self.rows


def row_cycle_of(numbers: Sequence[int]) -> RowCycle | None:
    """Returns the cycle of these rows, one for each step; None if they do not repeat."""
    if numbers[0]:
        return None
    found = RowCycle(next((at for at, row in enumerate(numbers) if row), 1), max(numbers) + 1)
    return found if all(found.of(step) == row for step, row in enumerate(numbers)) else None


@dataclass(frozen=True, slots=True)
class RowAccess:
    """Row pointers: for output row y, pointer i is the image's row y * stride + first + i * step.

    Irregular rows are listed for each row of the result. The step is at least 1.
    """

    stride: int = 1
    first: int = 0
    count: int = 1
    step: int = 1
    given: tuple[tuple[int, ...], ...] = ()

    def rows(self, y: int) -> tuple[int, ...]:
        """Returns the rows of the image for that row of the result."""
        return self.given[y] if self.given else tuple(self.row(y, i) for i in range(self.count))

    def row(self, y: int, number: int) -> int:
        """Returns the row of the image that the pointer with that number points to."""
        return self.given[y][number] if self.given else y * self.stride + self.first + number * self.step

    @property
    def cycle(self) -> RowCycle | None:
        """Returns the cycle of the listed rows, or None."""
        return row_cycle_of([row for (row,) in self.given]) if self.count == 1 and self.given else None

    def extent_inside(self, y: int, begin: int, stop: int) -> tuple[int, int] | None:
        """Returns the first and last row from `begin` to before `stop` for that row of the result."""
        if self.given:
            inside = [row for row in self.given[y] if begin <= row < stop]
            return (min(inside), max(inside)) if inside else None
        first = y * self.stride + self.first
        lowest = max(0, -((first - begin) // self.step))  # computed: a matrix may be read whole for each row
        highest = min(self.count - 1, (stop - 1 - first) // self.step)
        return (first + lowest * self.step, first + highest * self.step) if lowest <= highest else None


@dataclass(frozen=True)
class Accumulation:
    """A result that accumulates row by row: 32-bit sums in the arena, with a step per input row."""

    start: Proc  # before the first row: initializes the sums
    finish: Proc  # after the last row: turns sums into results
    elements: int  # sums
    rows: int  # of the input
    dtype: DType = DType.I32  # of the sums

    @property
    def bytes(self) -> int:
        return self.elements * 4


@dataclass(frozen=True)
class Carried:
    """State that each step leaves for the next, in the arena from the first step to the last."""

    start: Proc  # before the first step
    state: Buffer

    @property
    def bytes(self) -> int:
        return self.state.elements * self.state.dtype.bytes


@dataclass(frozen=True, slots=True)
class SpreadResult:
    """A contiguous result that steps write in scattered parts; it is complete after the last step."""

    steps: int
    stride: int  # elements of the result from one group's part to the next group's
    group: int = 1  # steps
    within: int = 0  # elements of the result from one step's part to the next step's in a group

    def first(self, step: int) -> int:
        """Returns the element of the result at which a step's part begins."""
        return step // self.group * self.stride + step % self.group * self.within


@dataclass(frozen=True)
class Started:
    """A call that starts a device. The kernel's main call waits for it; other steps run in between.

    All its parameters stay in use until then: inputs, results, and the state that both calls share.
    """

    proc: Proc  # parameters and no body
    calls: CFunction

    @property
    def state_bytes(self) -> int:
        return sum(p.elements * p.dtype.bytes for p in self.proc.params if p.role is Role.STATE)


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A strategy that precedes the kernel's, and why it was not chosen."""

    strategy: str
    why: str
    device: str = ""  # the accelerator that the strategy belongs to


@dataclass(frozen=True)
class ScheduledFrom:
    """The unscheduled loops of a kernel's proc, and the original layout of its constants."""

    meaning: Proc
    packings: Mapping[str, Packing]


@dataclass(frozen=True)
class Kernel:
    """A scheduled proc, its access to tensors, and its constants as the proc reads them.

    If a C function computes the layer, the proc has parameters and no body.
    """

    proc: Proc
    summary: str  # one line of C comment, true for every layer that shares the function
    strategy: str = "plain"
    why: str = "its only strategy"
    access: tuple[RowAccess, ...] = (RowAccess(),)  # one per activation input
    constants: Mapping[str, Array] = field(default_factory=dict)
    # Constants with separate parts per step: the number of elements per step.
    row_tables: Mapping[str, int] = field(default_factory=dict)
    row_cycles: Mapping[str, RowCycle] = field(default_factory=dict)  # of these, if parts repeat
    space: Space | None = None  # None: there is nothing to choose
    point: Point = field(default_factory=dict)  # of that space
    sketch: Point = field(default_factory=dict)  # a point of the sketches' space, if it has no space
    accumulation: Accumulation | None = None  # then `proc` adds one row to the sums
    carried: Carried | None = None  # then each step needs the one before it
    spread: SpreadResult | None = None  # then the result's rows are complete after the last step
    slowed_by_edges: bool = False  # rows with padding would be read faster
    passed_over: tuple[PassedOver, ...] = ()
    whole: bool = False  # then `proc` runs once, over tensors in one piece
    rows_per_step: int = 1  # rows of the result per run of `proc`
    extra_bytes: int = 0  # of its weights beyond those of a compact layer
    calls: CFunction | None = None  # the function that computes the layer, in place of loops
    started: Started | None = None  # then `calls` waits for this device
    demand: MemoryDemand = ANYWHERE  # alignment and memories of its tensors, scratch and constants
    device: str = ""  # the accelerator that computes it; empty: the CPU
    scheduled_from: ScheduledFrom | None = None  # by an external schedule; can be verified
    in_halves: bool = False  # two cores compute each step, half of its outermost loops each

    @property
    def procs(self) -> tuple[Proc, ...]:
        """All procs, in the order in which they first run."""
        if self.accumulation is not None:
            return (self.accumulation.start, self.proc, self.accumulation.finish)
        if self.started is not None:
            return (self.started.proc, self.proc)
        return (self.proc,) if self.carried is None else (self.carried.start, self.proc)

    def with_loops(self, change: Callable[[Proc], Proc]) -> Kernel:
        """Returns the kernel with `change` applied to each proc that reads rows or finishes their sums."""
        parts = self.accumulation
        if parts is not None:
            parts = replace(parts, start=change(parts.start), finish=change(parts.finish))
        return replace(self, proc=change(self.proc), accumulation=parts)

    @property
    def row_params(self) -> tuple[Buffer, ...]:
        """Returns the parameters that are rows of inputs, one for each access, in any proc."""
        found: dict[str, Buffer] = {}
        for proc in (self.proc, *self.procs):
            found |= {p.name: p for p in proc.params if p.role is Role.ROWS and p.name not in found}
        return tuple(found.values())

    @property
    def state_bytes(self) -> int:
        """Returns the bytes that are live from its first step to its last."""
        if self.started is not None:
            return self._aligned(self.started.state_bytes)
        kept = self.accumulation or self.carried
        return kept.bytes if kept is not None else 0

    @property
    def scratch(self) -> Mapping[str, int]:
        """Returns the byte offset of each scratch array of the procs, which are consecutive."""
        sizes = {p.name: p.elements * p.dtype.bytes for p in _scratch_of(self.procs)}
        ends = accumulate((self._aligned(size) for size in sizes.values()), initial=0)
        return dict(zip(sizes, ends, strict=False))

    @property
    def scratch_bytes(self) -> int:
        return sum(self._aligned(p.elements * p.dtype.bytes) for p in _scratch_of(self.procs))

    def _aligned(self, size: int) -> int:
        """Returns the size rounded up to the alignment of the next array."""
        return aligned(size, self.demand.align)


def _scratch_of(procs: Sequence[Proc]) -> list[Buffer]:
    return [param for proc in procs for param in proc.params if param.role is Role.SCRATCH]


def aligned(size: int, align: int = WORD) -> int:
    """Returns the next multiple of `align`."""
    return -(-size // align) * align


# Results that may overwrite an operand: each element is read before its position is written.
#
# This is for tensors of one row or one piece. In images, rows die one by one, so it would save only one row.


def row_fits(site: Site, position: int, x: RowFormat, y: RowFormat) -> bool:
    """Returns True if the only row of the result may replace the operand's."""
    source, out = site.input(position), site.outputs[0]
    is_vector = geometry(source).rows == geometry(out).rows == 1
    return is_vector and source.dtype is out.dtype and replace(x, fill=y.fill) == y


def piece_fits(site: Site, position: int) -> bool:
    """Returns True if the whole result may replace the whole operand."""
    source, out = site.input(position), site.outputs[0]
    return source.dtype is out.dtype and source.shape == out.shape


@dataclass(frozen=True, slots=True)
class CFile:
    name: str  # such as "vanilla.c"; no file of a model may have the same name
    text: str


@dataclass(frozen=True, slots=True)
class CLibrary:
    """C files that are added to every model that calls their functions."""

    header: CFile
    sources: tuple[CFile, ...]
    code_bytes: int = 0  # compiled size, approximate
    needs: frozenset[Feature] = frozenset()  # features of the core
    c_headers: tuple[str, ...] = ()  # standard headers that its files include, such as math.h

    @property
    def files(self) -> tuple[CFile, ...]:
        return (self.header, *self.sources)


@dataclass(frozen=True, slots=True)
class CFunction:
    """A hand-written C function that computes a layer.

    It is called like a generated kernel: with a pointer for each parameter of the kernel's proc, in order. If
    it has numbers, a pointer to a constant `struct <name>_shape` with these members follows. Its header
    declares both. It must compute the result of the op's reference.
    """

    name: str
    library: CLibrary
    numbers: tuple[tuple[str, int], ...] = ()  # members of its shape, each an int32_t
    stack_bytes: int = 0
