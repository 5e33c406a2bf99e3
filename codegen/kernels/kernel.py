"""What a kernel file gives: which rows it requests, and the loop nest with its constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from aot.ir.graph import Node
from aot.ir.types import Array, DType, TensorType
from aot.target import Optimize, Target
from codegen.isa.plain.scalar_math import ScalarMath
from codegen.kernels.knobs import Point, Space
from codegen.loops.ir import Buffer, Proc, Role

_SCRATCH_ALIGN = 4


@dataclass(frozen=True)
class Site:
    """A node with everything a kernel may specialise on."""

    node: Node
    inputs: tuple[TensorType | None, ...]
    outputs: tuple[TensorType, ...]
    constants: Mapping[int, Array]  # by input position
    target: Target
    math: ScalarMath  # what its core does in instructions of their own
    optimize: Optimize
    allow_widened_rows: bool  # where they are faster than rows as wide as the values
    tuned: Mapping[str, Point]  # by task
    unpadded: bool = False  # rows have no padding where the kernel can do without
    compact: bool = False  # weights are stored in no more bytes than they have

    def input(self, position: int) -> TensorType:
        found = self.inputs[position]
        assert found is not None, f"{self.node.name} has no input {position}"
        return found

    @property
    def macs(self) -> int:
        return self.node.op.cost(self.inputs, self.outputs).macs


@dataclass(frozen=True, slots=True)
class Turns:
    """Rows one after the other, each for some steps, and again from the first on."""

    each: int
    rows: int

    def of(self, step: int) -> int:
        return step // self.each % self.rows


def turns_of(numbers: Sequence[int]) -> Turns | None:
    """The turns of these rows, one for each step; None where they follow no such rule."""
    if numbers[0]:
        return None
    found = Turns(next((at for at, row in enumerate(numbers) if row), 1), max(numbers) + 1)
    return found if all(found.of(step) == row for step, row in enumerate(numbers)) else None


@dataclass(frozen=True, slots=True)
class RowAccess:
    """Row pointers: for output row y, pointer i is the image's row y * stride + first + i * step.

    Where they follow no such rule they are given for each row of the result.
    """

    stride: int
    first: int
    count: int
    step: int = 1
    given: tuple[tuple[int, ...], ...] = ()

    def rows(self, y: int) -> tuple[int, ...]:
        """The rows of the image for that row of the result."""
        first = y * self.stride + self.first
        return self.given[y] if self.given else tuple(first + i * self.step for i in range(self.count))

    @property
    def turns(self) -> Turns | None:
        """The turns of the given rows, where they come in turns."""
        return turns_of([row for (row,) in self.given]) if self.count == 1 and self.given else None

    def rows_inside(self, y: int, begin: int, stop: int) -> tuple[int, ...]:
        """The rows for that row of the result that lie from `begin` to before `stop`."""
        return tuple(row for row in self.rows(y) if begin <= row < stop)


@dataclass(frozen=True)
class Accumulation:
    """A result that grows row by row: sums of 32 bits in the arena, one step for each row of the input."""

    start: Proc  # before the first row: sums to where they begin
    finish: Proc  # after the last: sums to results
    elements: int  # sums
    rows: int  # of the input
    dtype: DType = DType.I32  # of the sums

    @property
    def bytes(self) -> int:
        return self.elements * 4


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A schedule that would have come before the one that a kernel has, and why it did not."""

    schedule: str
    why: str


@dataclass(frozen=True)
class Kernel:
    """A scheduled proc, how it meets the tensors, and its constants as the proc reads them."""

    schedule: str
    why: str
    proc: Proc
    summary: str  # one line of C comment, true for every layer that shares the function
    access: tuple[RowAccess, ...]  # one per activation input
    constants: Mapping[str, Array] = field(default_factory=dict)
    # Constants with that many elements per step, where each step has its own part.
    row_tables: Mapping[str, int] = field(default_factory=dict)
    row_turns: Mapping[str, Turns] = field(default_factory=dict)  # which part of those, where they recur
    space: Space | None = None  # None: there is nothing to choose
    point: Point = field(default_factory=dict)  # of that space
    sketch: Point = field(default_factory=dict)  # of the space of its nest, where it has none of its own
    accumulation: Accumulation | None = None  # then `proc` adds one row to the sums
    slowed_by_edges: bool = False  # rows with margins would be read faster
    passed_over: tuple[PassedOver, ...] = ()
    whole: bool = False  # then `proc` runs once, over tensors in one piece
    rows_per_step: int = 1  # of the result, that one run of `proc` makes
    extra_bytes: int = 0  # by which transformed weights are larger than weights as they are

    @property
    def procs(self) -> tuple[Proc, ...]:
        """All procs, in the order in which they first run."""
        if self.accumulation is None:
            return (self.proc,)
        return (self.accumulation.start, self.proc, self.accumulation.finish)

    @property
    def scratch(self) -> Mapping[str, int]:
        """The offset of each array that the procs work in, in bytes: one lies behind the other."""
        sizes = {p.name: p.elements * p.dtype.bytes for p in _scratch_of(self.procs)}
        ends = accumulate((aligned(size) for size in sizes.values()), initial=0)
        return dict(zip(sizes, ends, strict=False))

    @property
    def scratch_bytes(self) -> int:
        return sum(aligned(p.elements * p.dtype.bytes) for p in _scratch_of(self.procs))


def _scratch_of(procs: Sequence[Proc]) -> list[Buffer]:
    return [param for proc in procs for param in proc.params if param.role is Role.SCRATCH]


def aligned(size: int) -> int:
    """Bytes up to where the next array may begin."""
    return -(-size // _SCRATCH_ALIGN) * _SCRATCH_ALIGN
