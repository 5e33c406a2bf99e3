"""Very many steps are planned in groups: neighbours of one stage are taken as one.

What holds where a group reads all its rows, then writes all its rows, and loses none of either, holds
also where its steps go one by one: the checker may look at the groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from aot.plan.model import NO_ROWS, Plan, PlanRequest, Rows, Stage, Step
from aot.records import dataclass

MOST_STEPS = 20_000  # planned one by one
MOST_GROUPS = 2_500  # of more than that


@dataclass(frozen=True, slots=True)
class Grouped:
    request: PlanRequest  # its steps are groups
    sizes: tuple[tuple[int, ...], ...]  # [stage][group]: steps


def group_steps(request: PlanRequest, most: int = MOST_STEPS, groups: int = MOST_GROUPS) -> Grouped:
    """More than `most` in the smallest groups that are no more than `groups`, if that can be."""
    counts = [len(stage.steps) for stage in request.stages]
    size = 1
    if sum(counts) > most:
        while sum(-(-count // size) for count in counts) > max(groups, len(counts)):
            size += 1
    sizes = tuple(_sizes(stage, size) for stage in request.stages)
    stages = (_group(stage, its) for stage, its in zip(request.stages, sizes, strict=True))
    return Grouped(replace(request, stages=tuple(stages)) if size > 1 else request, sizes)


def one_by_one(plan: Plan, grouped: Grouped) -> Plan:
    """The plan of the groups as one of their steps."""
    left = [iter(sizes) for sizes in grouped.sizes]
    taken = [next(left[stage]) for stage in plan.order]
    starts = (0, *accumulate(taken))
    order = (stage for stage, count in zip(plan.order, taken, strict=True) for _ in range(count))
    buffers = {
        name: replace(b, first_step=starts[b.first_step], last_step=starts[b.last_step + 1] - 1)
        for name, b in plan.buffers.items()
    }
    return replace(plan, order=tuple(order), buffers=buffers, peak_step=starts[plan.peak_step])


def _sizes(stage: Stage, size: int) -> tuple[int, ...]:
    """A stage whose rows do not follow one another stays as it is."""
    count = len(stage.steps)
    if not _writes_on(stage):
        return (1,) * count
    return tuple(min(size, count - first) for first in range(0, count, size))


def _writes_on(stage: Stage) -> bool:
    for n in range(len(stage.writes)):
        written = [step.writes[n] for step in stage.steps if len(step.writes[n])]
        if any(one.stop != other.first for one, other in pairwise(written)):
            return False
    return True


def _group(stage: Stage, sizes: Sequence[int]) -> Stage:
    return replace(stage, steps=tuple(_groups(stage.steps, sizes)))


def _groups(steps: Sequence[Step], sizes: Sequence[int]) -> Iterator[Step]:
    first = 0
    for size in sizes:
        together = steps[first : first + size]
        first += size
        yield Step(
            tuple(_hull(rows) for rows in zip(*(step.reads for step in together), strict=True)),
            tuple(_hull(rows) for rows in zip(*(step.writes for step in together), strict=True)),
        )


def _hull(ranges: Sequence[Rows]) -> Rows:
    there = [rows for rows in ranges if rows.first != rows.stop]
    return Rows(min([r.first for r in there]), max([r.stop for r in there])) if there else NO_ROWS
