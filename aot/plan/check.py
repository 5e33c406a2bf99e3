"""Verifies a plan by replaying it over a map of who owns each byte.

Imports nothing from the planner. Each step must find every row it reads unchanged since its stage wrote it.
Its results, state and scratch must not overlap each other or its inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from math import gcd

import numpy as np
from numpy.typing import NDArray

from aot.plan.model import Kind, Plan, PlannedBuffer, PlanRequest, PlanTensor, Rows, Stage, Step

Ints = NDArray[np.int64]
NOBODY = 0
ONLY = Rows(0, 1)  # a state or scratch counts as one row


class PlanError(Exception):
    """A plan with wrong results, or a request that no plan satisfies: a bug in Solder."""


def check_plan(request: PlanRequest, plan: Plan) -> None:
    """Raises PlanError with both buffers if two collide."""
    _check_starts(request)
    _check_order(request, plan)
    _check_buffers(request, plan)
    _Replay(request, plan).run()


def _check_starts(request: PlanRequest) -> None:
    """Requires that the waiting step accesses everything that the device received when it started.

    The replay then checks that nothing overwrites it in between.
    """
    for stage in (stage for stage in request.stages if stage.starts):
        if len(stage.steps) != 2:
            raise PlanError(f"stage '{stage.name}' starts a device in {len(stage.steps)} steps, not in 2")
        start, wait = ((*step.reads, *step.writes) for step in stage.steps)
        for name, given, kept in zip((*stage.reads, *stage.writes), start, wait, strict=True):
            if len(given) and given != kept:
                raise PlanError(
                    f"stage '{stage.name}' passes tensor '{name}' to a device and does not keep it"
                )


def _check_order(request: PlanRequest, plan: Plan) -> None:
    taken = [0] * len(request.stages)
    for number in plan.order:
        if not 0 <= number < len(taken):
            raise PlanError(f"the order names stage {number} of {len(taken)}")
        taken[number] += 1
    for stage, count in zip(request.stages, taken, strict=True):
        if count != len(stage.steps):
            wanted = len(stage.steps)
            raise PlanError(f"stage '{stage.name}' runs {count} times in the order, not {wanted}")


def _check_buffers(request: PlanRequest, plan: Plan) -> None:
    for tensor in request.tensors:
        buffer = _buffer(plan, tensor.name)
        _check_rows(tensor, buffer)
        _check_place(request, plan, buffer, tensor.align, tensor.pools)
    for name, stage, size in _workspaces(request):
        buffer = _buffer(plan, name)
        if buffer.bytes < size:
            raise PlanError(f"buffer '{name}' has {buffer.bytes} bytes, its stage needs {size}")
        _check_place(request, plan, buffer, stage.align, stage.pools)


def _buffer(plan: Plan, name: str) -> PlannedBuffer:
    if name not in plan.buffers:
        raise PlanError(f"the plan has no buffer for '{name}'")
    return plan.buffers[name]


def _workspaces(request: PlanRequest) -> Iterator[tuple[str, Stage, int]]:
    """Yields name, stage and bytes of every state and scratch."""
    for stage in request.stages:
        if stage.state_bytes:
            yield f"{stage.name}.state", stage, stage.state_bytes
        if stage.scratch_bytes:
            yield f"{stage.name}.scratch", stage, stage.scratch_bytes


def _check_rows(tensor: PlanTensor, buffer: PlannedBuffer) -> None:
    if buffer.row_bytes != tensor.row_bytes:
        raise PlanError(
            f"rows of tensor '{tensor.name}' have {tensor.row_bytes} bytes, its buffer's {buffer.row_bytes}"
        )
    least = 1 if tensor.kind is Kind.INNER and not tensor.whole else tensor.rows
    if not least <= buffer.rows_held <= tensor.rows:
        raise PlanError(
            f"{tensor.kind.value} tensor '{tensor.name}' of {tensor.rows} rows is held as {buffer.rows_held}"
        )


def _check_place(
    request: PlanRequest, plan: Plan, buffer: PlannedBuffer, align: int, allowed: frozenset[str]
) -> None:
    limits = {pool.name: pool.bytes for pool in request.pools}
    if buffer.pool not in limits:
        raise PlanError(f"buffer '{buffer.name}' is in pool '{buffer.pool}', which is not in the request")
    if allowed and buffer.pool not in allowed:
        names = ", ".join(f"'{name}'" for name in sorted(allowed))
        raise PlanError(f"buffer '{buffer.name}' is in pool '{buffer.pool}', only {names} are allowed")
    size, limit = plan.pool_bytes.get(buffer.pool, 0), limits[buffer.pool]
    if limit is not None and size > limit:
        raise PlanError(f"pool '{buffer.pool}' is planned with {size} bytes, it has {limit}")
    if buffer.offset < 0 or buffer.offset + buffer.bytes > size:
        raise PlanError(
            f"buffer '{buffer.name}' at {buffer.offset}..{buffer.offset + buffer.bytes}"
            f" exceeds pool '{buffer.pool}' of {size} bytes"
        )
    if buffer.offset % align:
        raise PlanError(f"buffer '{buffer.name}' at {buffer.offset} is not aligned to {align}")


@dataclass(frozen=True, slots=True)
class _Tags:
    """Gives a number to each row of each tensor, and to each stage's state and scratch."""

    first: dict[str, int]
    texts: tuple[tuple[int, str, bool], ...]  # first tag, its owner, whether the owner has rows

    def text(self, tag: int) -> str:
        first, text, has_rows = next(entry for entry in reversed(self.texts) if entry[0] <= tag)
        return f"row {tag - first} of {text}" if has_rows else text


def _tags(request: PlanRequest) -> _Tags:
    things = [("", 1, "nothing", False)]
    things += [(t.name, t.rows, f"tensor '{t.name}'", True) for t in request.tensors]
    for stage in request.stages:
        things.append((f"{stage.name}.state", 1, f"the state of stage '{stage.name}'", False))
        things.append((f"{stage.name}.scratch", 1, f"the scratch of stage '{stage.name}'", False))
    starts = list(accumulate((count for _, count, _, _ in things), initial=NOBODY))
    first = {name: start for start, (name, *_) in zip(starts, things, strict=False)}
    texts = ((start, text, rows) for start, (_, _, text, rows) in zip(starts, things, strict=False))
    return _Tags(first, tuple(texts))


# By tensor: for each row, the number of the step that wrote it last. Steps are numbered stage by stage.
Versions = dict[str, Ints]
CALLER, NOBODY_YET = -1, -2


def _no_versions(request: PlanRequest) -> Versions:
    there = (Kind.INPUT, Kind.STATE)
    return {t.name: np.full(t.rows, CALLER if t.kind in there else NOBODY_YET) for t in request.tensors}


def _numbers(request: PlanRequest) -> list[int]:
    """Returns the number of each stage's first step."""
    counts = [len(stage.steps) for stage in request.stages]
    return [sum(counts[:n]) for n in range(len(counts))]


def _expected_reads(request: PlanRequest) -> dict[tuple[int, int], Ints]:
    """Returns, by (step, input), the writer of each row read when the stages run one after another."""
    versions, expected, number = _no_versions(request), {}, 0
    for stage in request.stages:
        for step in stage.steps:
            for n, (name, rows) in enumerate(zip(stage.reads, step.reads, strict=True)):
                expected[number, n] = versions[name][rows.first : rows.stop].copy()
            for name, rows in zip(stage.writes, step.writes, strict=True):
                versions[name][rows.first : rows.stop] = number
            number += 1
    return expected


def _rows(request: PlanRequest) -> list[tuple[str, int]]:
    """Returns the rows of every tensor; a state and a scratch have one each."""
    workspaces = [(name, len(ONLY)) for name, _, _ in _workspaces(request)]
    return [*((tensor.name, tensor.rows) for tensor in request.tensors), *workspaces]


def _unit(plan: Plan) -> int:
    """Returns the largest unit, in bytes, that divides every row's start and end."""
    return gcd(*(number for b in plan.buffers.values() for number in (b.offset, b.row_bytes))) or 1


class _Replay:
    """Runs the order on tagged memory."""

    def __init__(self, request: PlanRequest, plan: Plan) -> None:
        self.request, self.plan = request, plan
        self.tags = _tags(request)
        self.unit = _unit(plan)
        self.memory = {
            name: np.full(-(-size // self.unit), NOBODY, np.int32) for name, size in plan.pool_bytes.items()
        }
        self.rings = {name: self._ring(plan.buffers[name], rows) for name, rows in _rows(request)}
        self.versions = _no_versions(request)
        self.expected = _expected_reads(request)
        self.keeps_padding = {t.name for t in request.tensors if t.keeps_padding}
        self.position = 0

    def _ring(self, buffer: PlannedBuffer, rows: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Returns the ring's place in memory, as (positions, units), and the tag of each row there."""
        start, first = buffer.offset // self.unit, self.tags.first[buffer.name]
        place = self.memory[buffer.pool][start : start + buffer.bytes // self.unit]
        tags = np.arange(first, first + rows, dtype=np.int32)
        return place.reshape(buffer.rows_held, -1), tags[:, np.newaxis]

    def run(self) -> None:
        self._bring_in()
        numbers, taken = _numbers(self.request), [0] * len(self.request.stages)
        for position, which in enumerate(self.plan.order):
            self.position = position
            self._take_step(self.request.stages[which], taken[which], numbers[which] + taken[which])
            taken[which] += 1
        self._check_what_stays()

    def _bring_in(self) -> None:
        before = [t for t in self.request.tensors if t.kind in (Kind.INPUT, Kind.STATE)]
        for tensor in before:
            self._take(tensor.name, Rows(0, tensor.rows))
        for tensor in before:
            self._demand(tensor.name, Rows(0, tensor.rows), lambda: "present before the run")

    def _take_step(self, stage: Stage, nth: int, number: int) -> None:
        step = stage.steps[nth]
        self._check_reads(stage, step, number)
        self._claim_state(stage, nth)
        self._claim_scratch(stage)
        self._write(stage, step, number)
        self._check_workspaces(stage)
        self._check_writes(stage, step)
        self._check_reads_survive(stage, step)

    def _check_reads(self, stage: Stage, step: Step, number: int) -> None:
        for n, (name, rows) in enumerate(zip(stage.reads, step.reads, strict=True)):
            self._touch(name, len(rows))
            wrong = self.versions[name][rows.first : rows.stop] != self.expected[number, n]
            if wrong.any():
                row = rows.first + int(np.argmax(wrong))
                raise PlanError(
                    f"row {row} of tensor '{name}' read by {self._step(stage)} was written by"
                    f" {self._writer(self.versions[name][row])}, not by"
                    f" {self._writer(self.expected[number, n][row - rows.first])}"
                )
            self._demand(name, rows, partial(self._read_by, stage))

    def _claim_state(self, stage: Stage, nth: int) -> None:
        state = f"{stage.name}.state"
        if stage.state_bytes:
            self._touch(state)
            if nth == 0:
                self._take(state, ONLY)
            self._demand(state, ONLY, lambda: f"kept for {self._step(stage)}")

    def _write(self, stage: Stage, step: Step, number: int) -> None:
        for name, rows in zip(stage.writes, step.writes, strict=True):
            self._touch(name, len(rows))
            self._check_kept_padding(name, rows)
            for row in (
                np.flatnonzero(self.versions[name][rows.first : rows.stop] >= 0) + rows.first
            ).tolist():
                self._demand(name, Rows(row, row + 1), lambda: f"written on by {self._step(stage)}")
            self._take(name, rows)
            self.versions[name][rows.first : rows.stop] = number

    def _check_kept_padding(self, name: str, rows: Rows) -> None:
        """Checks padding that is written once for each position of a ring and then kept."""
        if name in self.keeps_padding:
            held = self.plan.buffers[name].rows_held
            before = Rows(max(rows.first - held, 0), max(rows.stop - held, 0))
            self._demand(name, before, lambda: f"kept for row {rows.first}")

    def _claim_scratch(self, stage: Stage) -> None:
        if stage.scratch_bytes:
            self._touch(f"{stage.name}.scratch")
            self._take(f"{stage.name}.scratch", ONLY)

    def _check_workspaces(self, stage: Stage) -> None:
        for kind, size in (("state", stage.state_bytes), ("scratch", stage.scratch_bytes)):
            if size:
                self._demand(f"{stage.name}.{kind}", ONLY, lambda: f"used by {self._step(stage)}")

    def _check_writes(self, stage: Stage, step: Step) -> None:
        for name, rows in zip(stage.writes, step.writes, strict=True):
            self._demand(name, rows, lambda: f"written by {self._step(stage)}")

    def _check_reads_survive(self, stage: Stage, step: Step) -> None:
        for n, (name, rows) in enumerate(zip(stage.reads, step.reads, strict=True)):
            if self._is_intact(name, rows):
                continue
            for nth, row in enumerate(range(rows.first, rows.stop)):
                if not self._is_written_in_place(stage, step, n, nth):
                    self._demand(name, Rows(row, row + 1), partial(self._read_by, stage))

    def _is_written_in_place(self, stage: Stage, step: Step, read: int, nth: int) -> bool:
        """Returns whether the nth row written may overwrite the nth row read."""
        for source, target in stage.in_place:
            rows_read, rows_written = step.reads[read], step.writes[target]
            if source != read or len(rows_read) != len(rows_written):
                continue
            old = self._place(stage.reads[read], rows_read.first + nth)
            new = self._place(stage.writes[target], rows_written.first + nth)
            if old == new:
                return True
        return False

    def _check_what_stays(self) -> None:
        for tensor in self.request.tensors:
            if tensor.kind in (Kind.OUTPUT, Kind.STATE):
                self._demand(tensor.name, Rows(0, tensor.rows), lambda: "kept after the run")

    def _place(self, name: str, row: int) -> tuple[str, int, int]:
        buffer = self.plan.buffers[name]
        return buffer.pool, buffer.offset + row % buffer.rows_held * buffer.row_bytes, buffer.row_bytes

    def _stretches(self, name: str, rows: Rows) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
        """Yields runs of consecutive rows in memory, as (rows, units), with their tags."""
        positions, tags = self.rings[name]
        row = rows.first
        while row < rows.stop:
            position = row % len(positions)
            count = min(rows.stop - row, len(positions) - position)
            yield positions[position : position + count], tags[row : row + count]
            row += count

    def _take(self, name: str, rows: Rows) -> None:
        for place, tags in self._stretches(name, rows):
            place[:] = tags

    def _is_intact(self, name: str, rows: Rows) -> bool:
        return not any((place != tags).any() for place, tags in self._stretches(name, rows))

    def _demand(self, name: str, rows: Rows, use: Callable[[], str]) -> None:
        """Raises PlanError unless every byte of the rows (or of a state) still belongs to them."""
        for place, tags in self._stretches(name, rows):
            is_other = place != tags
            if is_other.any():
                row = int(np.argmax(is_other.any(axis=1)))
                other = self.tags.text(int(place[row][is_other[row]][0]))
                fate = "does not exist" if other == "nothing" else f"was overwritten by {other}"
                raise PlanError(f"{self.tags.text(int(tags[row, 0]))} {use()} {fate}")

    def _touch(self, name: str, rows: int = 1) -> None:
        buffer = self.plan.buffers[name]
        if rows and not buffer.first_step <= self.position <= buffer.last_step:
            raise PlanError(
                f"buffer '{name}' is accessed at step {self.position},"
                f" outside {buffer.first_step}..{buffer.last_step}"
            )

    def _read_by(self, stage: Stage) -> str:
        return f"read by {self._step(stage)}"

    def _step(self, stage: Stage) -> str:
        return f"stage '{stage.name}' (step {self.position})"

    def _writer(self, version: int) -> str:
        if version < 0:
            return "the caller" if version == CALLER else "no stage yet"
        stage = max(n for n, first in enumerate(_numbers(self.request)) if first <= version)
        return f"stage '{self.request.stages[stage].name}'"
