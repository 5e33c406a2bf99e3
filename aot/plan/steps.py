"""The request as integer arrays: dependencies between steps and accesses to each row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from aot.plan.check import PlanError
from aot.plan.model import Kind, PlanRequest, PlanTensor, Rows, Stage

Ints = NDArray[np.int64]
Wait = tuple[int, int]  # a stage, and how many of its steps must have run


@dataclass(frozen=True, slots=True)
class Use:
    """One stage's use of one tensor: for each row, the first and last step that accesses it, or -1."""

    stage: int
    is_write: bool
    first: Ints
    last: Ints


@dataclass(frozen=True, slots=True)
class Touches:
    """All uses, one entry per row. The rows of all tensors, and all steps, are numbered consecutively."""

    row: Ints
    first: Ints
    last: Ints
    is_write: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Meetings:
    """Rows that may be written in place: row `over` may overwrite row `under` if that dies then."""

    under: Ints
    over: Ints
    bytes: Ints


@dataclass(frozen=True, slots=True)
class Steps:
    request: PlanRequest
    counts: tuple[int, ...]  # by stage
    starts: tuple[int, ...]  # number of each stage's first step
    waits: tuple[tuple[tuple[Wait, ...], ...], ...]  # [stage][step]
    next_waiting: tuple[tuple[int, ...], ...]  # [stage][step] -> next step that waits, or the step count
    asked: tuple[int, ...]  # by stage: steps that other stages wait for
    wanted: tuple[int, ...]  # by stage: steps up to the last that writes a row that is used
    reads_on: tuple[bool, ...]  # by stage: whether it reads anything after its wanted steps
    row_starts: tuple[int, ...]  # number of each tensor's first row, then the total
    touches: Touches
    meetings: Meetings
    bytes_used: tuple[int, ...]  # by tensor: bytes that kernels load and store in a run, approximately


def number_steps(request: PlanRequest) -> Steps:
    """Numbers the request. Raises PlanError if a step reads a row that no earlier stage writes."""
    index = {tensor.name: n for n, tensor in enumerate(request.tensors)}
    columns = [tuple(_columns(stage)) for stage in request.stages]
    uses = _uses(request, index, columns)
    for tensor, its_uses in zip(request.tensors, uses, strict=True):
        _forbid_unwritten_reads(request, tensor, its_uses)
    counts = [len(stage.steps) for stage in request.stages]
    starts = _starts(counts)
    row_starts = _starts([tensor.rows for tensor in request.tensors])
    waits = tuple(_waits(number, its, index, uses) for number, its in enumerate(columns))
    wanted = tuple(_wanted(number, request, index, uses) for number in range(len(request.stages)))
    return Steps(
        request=request,
        counts=tuple(counts),
        starts=starts,
        waits=waits,
        next_waiting=tuple(_next_waiting(steps) for steps in waits),
        asked=_asked(waits),
        wanted=wanted,
        reads_on=tuple(_reads_on(stage, count) for stage, count in zip(request.stages, wanted, strict=True)),
        row_starts=row_starts,
        touches=_touches(uses, starts, row_starts),
        meetings=_meetings(request, index, row_starts),
        bytes_used=_bytes_used(request, index),
    )


def _starts(counts: Iterable[int]) -> tuple[int, ...]:
    return (0, *accumulate(counts))


def _touches(
    uses: tuple[tuple[Use, ...], ...], starts: tuple[int, ...], row_starts: tuple[int, ...]
) -> Touches:
    nothing = np.zeros(0, np.int64)
    rows, firsts, lasts, writes = [nothing], [nothing], [nothing], [nothing]
    for start, its_uses in zip(row_starts[:-1], uses, strict=True):
        for use in its_uses:
            used = np.flatnonzero(use.first >= 0)
            rows.append(start + used)
            firsts.append(starts[use.stage] + use.first[used])
            lasts.append(starts[use.stage] + use.last[used])
            writes.append(np.full(len(used), use.is_write, np.int64))
    row, first, last, is_write = (np.concatenate(parts) for parts in (rows, firsts, lasts, writes))
    return Touches(row, first, last, is_write.astype(np.bool_))


def _meetings(request: PlanRequest, index: dict[str, int], row_starts: tuple[int, ...]) -> Meetings:
    found = [
        (row_starts[under] + r, row_starts[over] + w, request.tensors[under].row_bytes)
        for stage in request.stages
        for source, target in stage.in_place
        for under, over in [(index[stage.reads[source]], index[stage.writes[target]])]
        if under != over and request.tensors[under].row_bytes == request.tensors[over].row_bytes
        for step in stage.steps
        if len(step.reads[source]) == len(step.writes[target])
        for r, w in zip(_numbers(step.reads[source]), _numbers(step.writes[target]), strict=True)
    ]
    columns = np.asarray(found, np.int64).reshape(-1, 3).T
    return Meetings(columns[0], columns[1], columns[2])


def _numbers(rows: Rows) -> range:
    return range(rows.first, rows.stop)


@dataclass(frozen=True, slots=True)
class _Column:
    """Accesses of all steps of a stage to one tensor: rows from `first` to before `stop`."""

    name: str
    is_write: bool
    first: Ints
    stop: Ints


Columns = Sequence[Sequence[_Column]]  # by stage


def _columns(stage: Stage) -> Iterator[_Column]:
    for n, name in enumerate(stage.reads):
        yield _column(name, False, [step.reads[n] for step in stage.steps])
    for n, name in enumerate(stage.writes):
        yield _column(name, True, [step.writes[n] for step in stage.steps])


def _column(name: str, is_write: bool, rows: Sequence[Rows]) -> _Column:
    first, stop = ([each.first for each in rows], [each.stop for each in rows])
    return _Column(name, is_write, np.asarray(first, np.int64), np.asarray(stop, np.int64))


def _uses(request: PlanRequest, index: dict[str, int], columns: Columns) -> tuple[tuple[Use, ...], ...]:
    found: list[dict[tuple[int, bool], Use]] = [{} for _ in request.tensors]
    for number, its in enumerate(columns):
        for column in its:
            if (column.first < column.stop).any():
                uses, key = found[index[column.name]], (number, column.is_write)
                use = _use(number, column, request.tensors[index[column.name]].rows)
                uses[key] = _both(uses[key], use) if key in uses else use
    return tuple(tuple(uses.values()) for uses in found)


def _use(number: int, column: _Column, size: int) -> Use:
    counts = column.stop - column.first
    steps = np.repeat(np.arange(len(counts)), counts)
    rows = np.arange(len(steps)) + np.repeat(column.first - np.cumsum(counts) + counts, counts)
    first, last = np.full((2, size), -1)
    first[rows[::-1]], last[rows] = steps[::-1], steps  # of several steps the one assigned last remains
    return Use(number, column.is_write, first, last)


def _both(one: Use, other: Use) -> Use:
    least, most = np.minimum(one.first, other.first), np.maximum(one.first, other.first)
    return Use(one.stage, one.is_write, np.where(least < 0, most, least), np.maximum(one.last, other.last))


def _forbid_unwritten_reads(request: PlanRequest, tensor: PlanTensor, uses: tuple[Use, ...]) -> None:
    written = np.full(tensor.rows, tensor.kind in (Kind.INPUT, Kind.STATE))
    for use in uses:
        if not use.is_write and bool(np.any((use.first >= 0) & ~written)):
            row = int(np.argmax((use.first >= 0) & ~written))
            reader, text = request.stages[use.stage].name, f"row {row} of tensor '{tensor.name}'"
            raise PlanError(f"stage '{reader}' reads {text}, which no stage before it writes")
        if use.is_write:
            written |= use.first >= 0


def _waits(
    number: int, columns: Sequence[_Column], index: dict[str, int], uses: tuple[tuple[Use, ...], ...]
) -> tuple[tuple[Wait, ...], ...]:
    """Returns the steps that each step waits for: earlier writes of its rows; if it writes, earlier reads."""
    found: list[tuple[int, list[int]]] = []  # stage, and for each step how many steps of that stage
    for column in columns:
        earlier = (use for use in uses[index[column.name]] if use.stage < number)
        found += [(u.stage, _steps_over(column, u)) for u in earlier if u.is_write or column.is_write]
    steps = range(len(columns[0].first) if columns else 0)
    return tuple(_longest_waits((stage, counts[n]) for stage, counts in found) for n in steps)


def _steps_over(column: _Column, use: Use) -> list[int]:
    """Counts, for each step, the steps of the use up to the last that accesses its rows."""
    last = np.append(use.last, -1)
    most = np.maximum.reduceat(last, np.stack((column.first, column.stop), axis=1).ravel())[::2]
    counts: list[int] = np.where(column.first < column.stop, most + 1, 0).tolist()
    return counts


def _longest_waits(waits: Iterable[Wait]) -> tuple[Wait, ...]:
    longest: dict[int, int] = {}
    for stage, count in waits:
        if count > longest.get(stage, 0):
            longest[stage] = count
    return tuple(longest.items())


def _reads_on(stage: Stage, wanted: int) -> bool:
    return any(len(rows) for step in stage.steps[wanted:] for rows in step.reads)


def _next_waiting(waits: tuple[tuple[Wait, ...], ...]) -> tuple[int, ...]:
    found = [len(waits)]
    for step in range(len(waits) - 1, -1, -1):
        found.append(step if waits[step] else found[-1])
    return tuple(reversed(found))


def _asked(waits: tuple[tuple[tuple[Wait, ...], ...], ...]) -> tuple[int, ...]:
    asked = [0] * len(waits)
    for stage, count in (wait for steps in waits for step in steps for wait in step):
        asked[stage] = max(asked[stage], count)
    return tuple(asked)


def _wanted(
    number: int, request: PlanRequest, index: dict[str, int], uses: tuple[tuple[Use, ...], ...]
) -> int:
    wanted = 0
    for name in request.stages[number].writes:
        tensor = request.tensors[index[name]]
        own = next((use for use in uses[index[name]] if use.stage == number and use.is_write), None)
        if own is None:
            continue
        read = np.full(tensor.rows, tensor.kind in (Kind.OUTPUT, Kind.STATE))
        for use in uses[index[name]]:
            read |= (use.first >= 0) & (not use.is_write) & (use.stage != number)
        wanted = max(wanted, int(np.max(own.last[read], initial=-1)) + 1)
    return wanted


def _bytes_used(request: PlanRequest, index: dict[str, int]) -> tuple[int, ...]:
    """Returns the bytes of each tensor times the number of reads and writes of its rows."""
    found = [0] * len(request.tensors)
    for stage in request.stages:
        for n, number in enumerate(index[name] for name in stage.reads):
            rows = sum(len(step.reads[n]) for step in stage.steps)
            found[number] += max(rows * request.tensors[number].row_bytes, stage.work)
        for n, number in enumerate(index[name] for name in stage.writes):
            rows = sum(len(step.writes[n]) for step in stage.steps)
            found[number] += rows * request.tensors[number].row_bytes
    return tuple(found)
