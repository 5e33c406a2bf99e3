"""The planner's request and its answer: stages with steps, tensors made of rows, a plan.

A *stage* is a kernel with its place in the model. It runs in *steps*, typically one for each
output row; each step reads some rows of its inputs and writes some rows of its outputs.
A *tensor* is a sequence of equal rows. In memory it is a ring of `rows_held` rows: row r lives at
`offset + (r % rows_held) * row_bytes`. A ring as long as the tensor is the tensor itself.
A *plan* is the order of all steps, the length of every ring and the place of every buffer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

STATE_ALIGN = 4  # of a stage's state and scratch, where it asks for no more
ANY_POOL: frozenset[str] = frozenset()


class Kind(Enum):
    INPUT = "input"  # there before the first step; read where the caller put it
    OUTPUT = "output"  # still there after the last step, whole
    INNER = "inner"  # made and used up during a run; may be a ring
    STATE = "state"  # keeps its bytes from run to run


@dataclass(frozen=True, slots=True)
class Rows:
    """A half-open range of rows; empty where first == stop."""

    first: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.first


NO_ROWS = Rows(0, 0)


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a stage: the rows it reads and writes, one range per tensor of the stage."""

    reads: tuple[Rows, ...]
    writes: tuple[Rows, ...]


@dataclass(frozen=True, slots=True)
class PlanTensor:
    """A tensor as the planner sees it: equal rows, nothing else. Padding rows count as rows."""

    name: str
    rows: int
    row_bytes: int
    kind: Kind
    align: int = 4
    whole: bool = False  # its rows must lie one after another: it may not be a ring
    keeps_padding: bool = False  # a place of its ring holds nothing else from its first row to its last
    pools: frozenset[str] = ANY_POOL  # names of those it may lie in

    @property
    def bytes(self) -> int:
        return self.rows * self.row_bytes


@dataclass(frozen=True, slots=True)
class Stage:
    """A kernel in its place. Steps are taken in their order; rows of an output are written in order."""

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    steps: tuple[Step, ...]
    state_bytes: int = 0  # kept from the first step to the last: accumulators
    scratch_bytes: int = 0  # in use while a step runs, anybody's between the steps
    pools: frozenset[str] = ANY_POOL  # names of those that its state and scratch may lie in
    align: int = STATE_ALIGN  # of its state and scratch
    work: int = 0  # multiplications in a run: about as often it loads what it reads
    in_place: tuple[tuple[int, int], ...] = ()  # (read, write): the row written may lie on the row read
    starts: bool = False  # its first step starts a device, its last one waits: what is early, runs meanwhile


@dataclass(frozen=True, slots=True)
class Pool:
    """Memory that buffers may be placed in; of several the first is the fastest."""

    name: str
    bytes: int | None = None  # None: as much as it takes


@dataclass(frozen=True, slots=True)
class PlanRequest:
    tensors: tuple[PlanTensor, ...]
    stages: tuple[Stage, ...]  # in an order that is legal when every stage runs all its steps at once
    pools: tuple[Pool, ...] = (Pool("arena"),)
    rows: bool = True  # False: whole tensors only, each stage runs all its steps at once
    starts_at_once: bool = False  # devices start early even where that takes memory


@dataclass(frozen=True, slots=True)
class PlannedBuffer:
    """The place of a tensor's ring, a stage's state or its scratch."""

    name: str  # the tensor's name, "<stage>.state" or "<stage>.scratch"
    pool: str
    offset: int
    rows_held: int
    row_bytes: int
    first_step: int  # position in the order at which it is first touched
    last_step: int  # position in the order at which it is last touched

    @property
    def bytes(self) -> int:
        return self.rows_held * self.row_bytes


@dataclass(frozen=True, slots=True)
class Plan:
    order: tuple[int, ...]  # indices into PlanRequest.stages; the n-th mention of a stage is its n-th step
    buffers: Mapping[str, PlannedBuffer]
    pool_bytes: Mapping[str, int]
    bound_bytes: int  # no placement of these rings in this order can need less
    peak_step: int  # position in the order where most bytes are live
    peak_buffers: tuple[str, ...] = field(default=())  # what lives there, largest first
    is_least: bool = False  # proven: no placement of these rings in this order needs less
    is_crowded: bool = False  # too many buffers are there at once to search for a smaller placement

    @property
    def arena_bytes(self) -> int:
        return sum(self.pool_bytes.values())
