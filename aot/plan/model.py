"""Data types of the planner: a request (stages with steps, tensors made of rows) and a plan.

A *stage* is one use of a kernel in the model. It runs in *steps*, typically one per output row; each step
reads some rows of its inputs and writes some rows of its outputs.

A *tensor* is a sequence of equal rows. In memory it is a ring of `rows_held` rows: row r is at `offset + (r
% rows_held) * row_bytes`. A ring may be as long as the tensor.

A *plan* is the order of all steps, the length of every ring and the offset of every buffer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

STATE_ALIGN = 4  # bytes; minimum for a stage's state and scratch
ANY_POOL: frozenset[str] = frozenset()


class Kind(Enum):
    INPUT = "input"  # exists before the first step; read from the caller's memory
    OUTPUT = "output"  # exists whole after the last step
    INNER = "inner"  # computed and used during a run; may be a ring
    STATE = "state"  # keeps its bytes from run to run


@dataclass(frozen=True, slots=True)
class Rows:
    """A half-open range of rows; empty if first == stop."""

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
    """A tensor as the planner sees it: a number of equal rows. Padding rows count as rows."""

    name: str
    rows: int
    row_bytes: int
    kind: Kind
    align: int = 4
    whole: bool = False  # rows must be contiguous: no ring
    keeps_padding: bool = False  # a ring position holds no other data from the tensor's first row to its last
    pools: frozenset[str] = ANY_POOL  # names of the pools it may use

    @property
    def bytes(self) -> int:
        return self.rows * self.row_bytes


@dataclass(frozen=True, slots=True)
class Stage:
    """One use of a kernel. Its steps run in order, and write the rows of each output in order."""

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    steps: tuple[Step, ...]
    state_bytes: int = 0  # live from the first step to the last: accumulators
    scratch_bytes: int = 0  # live during each step, free between steps
    pools: frozenset[str] = ANY_POOL  # names of the pools that its state and scratch may use
    align: int = STATE_ALIGN  # bytes; for state and scratch
    work: int = 0  # multiplications per run: a rough measure of how often it loads its inputs
    in_place: tuple[tuple[int, int], ...] = ()  # (read, write): the written row may overwrite the read one
    starts: bool = False  # its first step starts a device, its last one waits for it


@dataclass(frozen=True, slots=True)
class Pool:
    """Memory for buffers. Pools are listed fastest first."""

    name: str
    bytes: int | None = None  # None: unlimited


@dataclass(frozen=True, slots=True)
class PlanRequest:
    tensors: tuple[PlanTensor, ...]
    stages: tuple[Stage, ...]  # in a valid order if each stage runs all its steps at once
    pools: tuple[Pool, ...] = (Pool("arena"),)
    rows: bool = True  # False: whole tensors only; each stage runs all its steps at once
    starts_at_once: bool = False  # start devices early even if that needs more memory


@dataclass(frozen=True, slots=True)
class PlannedBuffer:
    """A placed buffer: a tensor's ring, a stage's state or its scratch."""

    name: str  # the tensor's name, "<stage>.state" or "<stage>.scratch"
    pool: str
    offset: int
    rows_held: int
    row_bytes: int
    first_step: int  # position in the order of the first access
    last_step: int  # position in the order of the last access

    @property
    def bytes(self) -> int:
        return self.rows_held * self.row_bytes


@dataclass(frozen=True, slots=True)
class Plan:
    order: tuple[int, ...]  # indices into PlanRequest.stages; the n-th occurrence of a stage is its n-th step
    buffers: Mapping[str, PlannedBuffer]
    pool_bytes: Mapping[str, int]
    bound_bytes: int  # lower bound of any placement of these rings in this order
    peak_step: int  # position in the order at which most bytes are live
    peak_buffers: tuple[str, ...] = field(default=())  # buffers live at the peak, largest first
    is_least: bool = False  # proven: no placement of these rings in this order needs less
    is_crowded: bool = False  # too many buffers are live at once to search for a smaller placement

    @property
    def arena_bytes(self) -> int:
        return sum(self.pool_bytes.values())
