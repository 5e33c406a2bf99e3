"""The request by numbers: what each firing waits for, and which firings touch each row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from aot.plan.check import PlanError
from aot.plan.model import Kind, PlanRequest, PlanTensor, Rows, Stage

Ints = NDArray[np.int64]
Wait = tuple[int, int]  # a stage, and how many of its firings must be over


@dataclass(frozen=True, slots=True)
class Use:
    """What one stage does with one tensor: per row its first and last firing that touches it, or -1."""

    stage: int
    is_write: bool
    first: Ints
    last: Ints


@dataclass(frozen=True, slots=True)
class Touches:
    """All uses, one entry per row used: rows of all tensors are numbered through, and so are all firings."""

    row: Ints
    first: Ints
    last: Ints
    is_write: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Meetings:
    """Rows that may be written in place: row `over` begins where row `under` does, if `under` then dies."""

    under: Ints
    over: Ints
    bytes: Ints


@dataclass(frozen=True, slots=True)
class Firings:
    request: PlanRequest
    counts: tuple[int, ...]  # firings of each stage
    starts: tuple[int, ...]  # the number of each stage's first firing
    waits: tuple[tuple[tuple[Wait, ...], ...], ...]  # [stage][firing]
    next_waiting: tuple[tuple[int, ...], ...]  # [stage][firing] -> the first from here that waits, or the end
    asked: tuple[int, ...]  # firings of each stage that others wait for
    wanted: tuple[int, ...]  # firings of each stage up to the last whose rows anybody wants
    reads_on: tuple[bool, ...]  # whether a stage reads anything after its wanted firings
    row_starts: tuple[int, ...]  # the number of each tensor's first row, and of all rows
    touches: Touches
    meetings: Meetings
    bytes_used: tuple[int, ...]  # of each tensor, about as many as kernels load and store in a run


def number_firings(request: PlanRequest) -> Firings:
    """Raises PlanError where a firing reads a row that no earlier stage writes."""
    index = {tensor.name: n for n, tensor in enumerate(request.tensors)}
    uses = _uses(request, index)
    for tensor, its_uses in zip(request.tensors, uses, strict=True):
        _forbid_unwritten_reads(request, tensor, its_uses)
    counts = [len(stage.firings) for stage in request.stages]
    starts = _starts(counts)
    row_starts = _starts([tensor.rows for tensor in request.tensors])
    waits = tuple(_waits(number, stage, index, uses) for number, stage in enumerate(request.stages))
    wanted = tuple(_wanted(number, request, index, uses) for number in range(len(request.stages)))
    return Firings(
        request=request,
        counts=tuple(counts),
        starts=starts,
        waits=waits,
        next_waiting=tuple(_next_waiting(firings) for firings in waits),
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
        for firing in stage.firings
        if len(firing.reads[source]) == len(firing.writes[target])
        for r, w in zip(_numbers(firing.reads[source]), _numbers(firing.writes[target]), strict=True)
    ]
    columns = np.asarray(found, np.int64).reshape(-1, 3).T
    return Meetings(columns[0], columns[1], columns[2])


def _numbers(rows: Rows) -> range:
    return range(rows.first, rows.stop)


def ranges(stage: Stage, firing: int) -> Iterator[tuple[str, Rows, bool]]:
    """Each tensor a firing touches, the rows of it, and whether it writes them."""
    reads, writes = stage.firings[firing].reads, stage.firings[firing].writes
    yield from ((name, rows, False) for name, rows in zip(stage.reads, reads, strict=True) if len(rows))
    yield from ((name, rows, True) for name, rows in zip(stage.writes, writes, strict=True) if len(rows))


def _uses(request: PlanRequest, index: dict[str, int]) -> tuple[tuple[Use, ...], ...]:
    found: list[dict[tuple[int, bool], Use]] = [{} for _ in request.tensors]
    for number, stage in enumerate(request.stages):
        for firing in range(len(stage.firings)):
            for name, rows, is_write in ranges(stage, firing):
                uses, key = found[index[name]], (number, is_write)
                if key not in uses:
                    size = request.tensors[index[name]].rows
                    uses[key] = Use(number, is_write, np.full(size, -1), np.full(size, -1))
                use = uses[key]
                untouched = use.first[rows.first : rows.stop] < 0
                use.first[rows.first : rows.stop][untouched] = firing
                use.last[rows.first : rows.stop] = firing
    return tuple(tuple(uses.values()) for uses in found)


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
    number: int, stage: Stage, index: dict[str, int], uses: tuple[tuple[Use, ...], ...]
) -> tuple[tuple[Wait, ...], ...]:
    """A firing waits for what earlier stages do to its rows: their writes, and, if it writes, their reads."""
    all_waits = []
    for firing in range(len(stage.firings)):
        waits: dict[int, int] = {}
        for name, rows, is_write in ranges(stage, firing):
            for use in uses[index[name]]:
                if use.stage >= number:
                    break
                if use.is_write or is_write:
                    count = int(use.last[rows.first : rows.stop].max()) + 1
                    waits[use.stage] = max(waits.get(use.stage, 0), count)
        all_waits.append(tuple((other, count) for other, count in waits.items() if count))
    return tuple(all_waits)


def _reads_on(stage: Stage, wanted: int) -> bool:
    return any(len(rows) for firing in stage.firings[wanted:] for rows in firing.reads)


def _next_waiting(waits: tuple[tuple[Wait, ...], ...]) -> tuple[int, ...]:
    found = [len(waits)]
    for firing in range(len(waits) - 1, -1, -1):
        found.append(firing if waits[firing] else found[-1])
    return tuple(reversed(found))


def _asked(waits: tuple[tuple[tuple[Wait, ...], ...], ...]) -> tuple[int, ...]:
    asked = [0] * len(waits)
    for stage, count in (wait for firings in waits for firing in firings for wait in firing):
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
    """Of each tensor: its rows as often as they are read or written, or the work of whoever reads it."""
    found = [0] * len(request.tensors)
    for stage in request.stages:
        for n, number in enumerate(index[name] for name in stage.reads):
            rows = sum(len(firing.reads[n]) for firing in stage.firings)
            found[number] += max(rows * request.tensors[number].row_bytes, stage.work)
        for n, number in enumerate(index[name] for name in stage.writes):
            rows = sum(len(firing.writes[n]) for firing in stage.firings)
            found[number] += rows * request.tensors[number].row_bytes
    return tuple(found)
