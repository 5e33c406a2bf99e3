"""Computes the address and the live steps of each row of each buffer, from the plan's order."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np

from aot.plan.model import Kind, Plan, PlannedBuffer, PlanRequest, Rows, Stage, Step
from aot.plan.place import are_many

_KEPT_BEFORE = (Kind.INPUT, Kind.STATE)
# Kept from step to step; used only during each step.
_WORKSPACES = {"state": "sums", "scratch": "scratch"}
_KEPT_AFTER = (Kind.OUTPUT, Kind.STATE)

Spans = list[tuple[int, int, int]]  # row, first and last step that needs it


@dataclass(frozen=True, slots=True)
class Span:
    """A row at its address, from the first to the last step that needs it, both included."""

    row: int
    address: int
    bytes: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class BufferLife:
    """A buffer of the plan, and when each of its rows is live."""

    name: str
    kind: str  # a value of Kind, "sums" or "scratch"
    pool: str
    offset: int
    row_bytes: int
    rows: int  # of the tensor, including padding rows
    rows_held: int
    first_step: int
    last_step: int
    span_rows: tuple[int, ...]  # one entry per stay in memory: row,
    span_firsts: tuple[int, ...]  # first step,
    span_lasts: tuple[int, ...]  # last step

    @property
    def bytes(self) -> int:
        return self.rows_held * self.row_bytes

    @property
    def is_ring(self) -> bool:
        return self.rows_held < self.rows

    @property
    def spans(self) -> Iterator[Span]:
        for row, first, last in zip(self.span_rows, self.span_firsts, self.span_lasts, strict=True):
            address = self.offset + row % self.rows_held * self.row_bytes
            yield Span(row, address, self.row_bytes, first, last)

    def live_rows(self, steps: int) -> tuple[int, ...]:
        """Returns the number of live rows at each step."""
        change = [0] * (steps + 1)
        for first, last in zip(self.span_firsts, self.span_lasts, strict=True):
            change[first] += 1
            change[last + 1] -= 1
        return tuple(accumulate(change[:-1]))

    def live_bytes_at(self, time: int) -> int:
        stays = zip(self.span_firsts, self.span_lasts, strict=True)
        return sum(first <= time <= last for first, last in stays) * self.row_bytes


@dataclass(frozen=True)
class MemoryMap:
    """The plan as reports and pictures show it. A time is a position in `order`."""

    order: tuple[int, ...]  # the layer that runs a step at each position
    pool_bytes: Mapping[str, int]
    bound_bytes: int  # lower bound of any placement of these rings in this order
    whole_tensor_bound_bytes: int  # lower bound for any whole-tensor planner
    is_least: bool  # proven: no placement of these rings in this order needs less
    buffers: tuple[BufferLife, ...]

    @property
    def arena_bytes(self) -> int:
        return sum(self.pool_bytes.values())

    @property
    def is_crowded(self) -> bool:
        """Returns whether too many buffers are live at once to search for a smaller placement."""
        lives = [each for each in self.buffers if each.span_firsts]
        begins = [min(each.span_firsts) for each in lives]
        return are_many(np.asarray(begins), np.asarray([max(each.span_lasts) for each in lives]))

    @property
    def is_below_whole_tensors(self) -> bool:
        """Returns whether whole tensors provably need more; a bound below the arena proves nothing."""
        return self.arena_bytes < self.whole_tensor_bound_bytes

    @cached_property
    def live_bytes(self) -> tuple[int, ...]:
        """Returns the live bytes at each step; a row written over its operand counts once."""
        change = [0] * (len(self.order) + 1)
        for span in (span for buffer in self.buffers for span in buffer.spans):
            change[span.first] += span.bytes
            change[span.last + 1] -= span.bytes
        for time, size in _written_in_place(self.buffers):
            change[time] -= size
            change[time + 1] += size
        return tuple(accumulate(change[:-1]))

    @property
    def peak_step(self) -> int:
        return max(range(len(self.order)), key=self.live_bytes.__getitem__)

    @property
    def peak_bytes(self) -> int:
        return self.live_bytes[self.peak_step]

    def live_at(self, time: int) -> tuple[tuple[str, int], ...]:
        """Returns the buffers in use at a step, by name with their live bytes, largest first."""
        sizes = ((buffer.name, buffer.live_bytes_at(time)) for buffer in self.buffers)
        return tuple(sorted((s for s in sizes if s[1]), key=lambda s: (-s[1], s[0])))

    def by_pool(self) -> tuple[MemoryMap, ...]:
        """Splits the map into one for each pool."""
        return tuple(
            replace(
                self,
                pool_bytes={pool: size},
                buffers=tuple(buffer for buffer in self.buffers if buffer.pool == pool),
            )
            for pool, size in self.pool_bytes.items()
        )

    @cached_property
    def by_name(self) -> Mapping[str, BufferLife]:
        return {buffer.name: buffer for buffer in self.buffers}


def _written_in_place(buffers: Iterable[BufferLife]) -> Iterator[tuple[int, int]]:
    """Yields the steps that write a row over the row it is computed from, with the shared bytes."""
    positions: dict[tuple[str, int, int], list[Span]] = defaultdict(list)
    for buffer in buffers:
        for span in buffer.spans:
            positions[buffer.pool, span.address, span.bytes].append(span)
    for spans in positions.values():
        for under, over in pairwise(sorted(spans, key=lambda s: (s.first, s.last))):
            if under.last == over.first:
                yield over.first, over.bytes


def map_memory(request: PlanRequest, plan: Plan, whole_tensor_bound_bytes: int) -> MemoryMap:
    lives = {**_tensor_spans(request, plan), **_workspace_spans(request, plan)}
    kinds = {t.name: (t.kind.value, t.rows) for t in request.tensors}
    return MemoryMap(
        order=plan.order,
        pool_bytes=dict(plan.pool_bytes),
        bound_bytes=plan.bound_bytes,
        whole_tensor_bound_bytes=whole_tensor_bound_bytes,
        is_least=plan.is_least,
        buffers=tuple(
            _buffer_life(buffer, *(kinds.get(name) or _workspace_kind(name)), lives[name])
            for name, buffer in plan.buffers.items()
        ),
    )


def _workspace_kind(buffer: str) -> tuple[str, int]:
    """Returns the kind of a stage's state or scratch, by its name, and its number of rows, 1."""
    return _WORKSPACES[buffer.rpartition(".")[2]], 1


def _buffer_life(buffer: PlannedBuffer, kind: str, rows: int, spans: Spans) -> BufferLife:
    columns = tuple(zip(*spans, strict=True)) or ((), (), ())
    return BufferLife(
        name=buffer.name,
        kind=kind,
        pool=buffer.pool,
        offset=buffer.offset,
        row_bytes=buffer.row_bytes,
        rows=rows,
        rows_held=buffer.rows_held,
        first_step=buffer.first_step,
        last_step=buffer.last_step,
        span_rows=columns[0],
        span_firsts=columns[1],
        span_lasts=columns[2],
    )


def _tensor_spans(request: PlanRequest, plan: Plan) -> Mapping[str, Spans]:
    """Returns the lifetimes of rows: from first to last use, inputs from the start, outputs to the end."""
    touched: dict[str, dict[int, tuple[int, int]]] = {tensor.name: {} for tensor in request.tensors}
    for time, stage, step in _steps(request, plan.order):
        for name, rows in _touches(stage, step):
            for row in range(rows.first, rows.stop):
                first, _ = touched[name].get(row, (time, time))
                touched[name][row] = first, time
    end = len(plan.order) - 1
    return {
        tensor.name: [
            (row, 0 if tensor.kind in _KEPT_BEFORE else first, end if tensor.kind in _KEPT_AFTER else last)
            for row, (first, last) in sorted(touched[tensor.name].items())
        ]
        for tensor in request.tensors
    }


def _steps(request: PlanRequest, order: Iterable[int]) -> Iterator[tuple[int, Stage, Step]]:
    taken: Counter[int] = Counter()
    for time, number in enumerate(order):
        stage = request.stages[number]
        yield time, stage, stage.steps[taken[number]]
        taken[number] += 1


def _touches(stage: Stage, step: Step) -> Iterator[tuple[str, Rows]]:
    yield from zip(stage.reads, step.reads, strict=True)
    yield from zip(stage.writes, step.writes, strict=True)


def _workspace_spans(request: PlanRequest, plan: Plan) -> Mapping[str, Spans]:
    """Returns the lifetimes of a stage's state, from first to last step, and of scratch, during each step."""
    times: dict[str, list[int]] = defaultdict(list)
    for time, stage, _ in _steps(request, plan.order):
        times[stage.name].append(time)
    states = {f"{name}.state": [(0, at[0], at[-1])] for name, at in times.items()}
    return states | {f"{name}.scratch": [(0, time, time) for time in at] for name, at in times.items()}


# Draws the memory map as text: a line per buffer, time from left to right, bars for bytes in use.


_HEIGHTS = " ▁▂▃▄▅▆▇█"
_WIDEST_NAME = 28
_LEAST_COLUMNS = 12  # of the chart
_TOTAL = "all together"
_CALLERS = (Kind.INPUT.value, Kind.OUTPUT.value)


def draw_memory(memory: MemoryMap, columns: int = 60, width: int | None = None) -> str:
    """Returns the map as lines of at most about `columns` + 75 characters, or `width`, without color."""
    steps = len(memory.order)
    longest = _WIDEST_NAME if width is None else min(_WIDEST_NAME, width // 4)
    names = max(len(shortened(name, longest)) for name in (*(b.name for b in memory.buffers), _TOTAL))
    columns = min(columns, steps)
    if width is not None:
        columns = min(columns, max(_LEAST_COLUMNS, width - names - _beside(memory)))
    lines = [f"{steps} rows are computed, from left to right. A bar is the share of a buffer that is needed."]
    for pool in memory.by_pool():
        lines += _pool(pool, columns, names, is_only=len(memory.pool_bytes) == 1)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _beside(memory: MemoryMap) -> int:
    """Returns the characters of a line besides the name and the chart."""
    return len(" ||  ") + 2 * _digits(memory) + max(len(rows_text(buffer)) for buffer in memory.buffers)


def _digits(memory: MemoryMap) -> int:
    return max(9, len(f"{memory.arena_bytes:,}") + 2)


def _pool(memory: MemoryMap, columns: int, width: int, is_only: bool) -> list[str]:
    """Draws the buffers of one memory, their sum, and its peak."""
    steps = len(memory.order)
    (pool,) = memory.pool_bytes
    title = "" if is_only else f"in {pool}"
    digits = _digits(memory)
    head = f"{title:{width}} {'':{columns}}  {'bytes':>{digits}}{'at':>{digits}}"
    lines = [*([] if is_only else [""]), head]
    for buffer in memory.buffers:
        name = shortened(buffer.name, width)
        cells = _cells(buffer.live_rows(steps), buffer.rows_held, columns)
        lines.append(
            f"{name:{width}} |{cells}|{buffer.bytes:{digits},}{buffer.offset:{digits},}  {rows_text(buffer)}"
        )
    total = _cells(memory.live_bytes, memory.arena_bytes, columns)
    lines.append(f"{_TOTAL:{width}} |{total}|{memory.arena_bytes:{digits},}{'':{digits}}  arena")
    mark = width + 2 + _column(memory.peak_step, steps, columns)
    says = f"peak: {memory.peak_bytes:,} bytes"
    lines.append(f"{f'{says} ▲':>{mark + 1}}" if len(says) < mark else f"{'':{mark}}▲ {says}")
    return lines


def rows_text(buffer: BufferLife) -> str:
    """Describes how much of a tensor is held: "ring of 3 of 25 rows", "25 rows"."""
    if not buffer.bytes and buffer.kind in _CALLERS:
        return "the caller's"
    if buffer.is_ring:
        return f"ring of {buffer.rows_held} of {buffer.rows} rows"
    return f"{buffer.rows} rows" if buffer.rows > 1 else "whole"


def shortened(name: str, most: int) -> str:
    """Keeps the end of a long name, which is most specific; starts after a slash if possible."""
    if len(name) <= most:
        return name
    end = name[1 - most :]
    slash = end.find("/")
    return f"…{end[slash:]}" if 0 <= slash < most // 2 else f"…{end}"


def _cells(values: Sequence[int], full: int, columns: int) -> str:
    """Draws a bar per column: the largest need in its time range. Any need is visible."""
    most = [0] * columns
    for time, value in enumerate(values):
        column = _column(time, len(values), columns)
        most[column] = max(most[column], value)
    return "".join(_HEIGHTS[-(-value * 8 // full)] for value in most)


def _column(time: int, steps: int, columns: int) -> int:
    return time * columns // steps
