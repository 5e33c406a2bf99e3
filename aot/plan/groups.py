"""Plans models with very many steps in groups: consecutive steps of one stage count as one.

A plan that is correct if a group reads all its rows and then writes all its rows is also correct if its
steps run one by one, so the checker may check the groups.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, pairwise

from aot.plan.model import NO_ROWS, Plan, PlanRequest, Rows, Step

MOST_STEPS = 20_000  # largest number planned one by one
MOST_GROUPS = 2_500  # largest number of groups, above MOST_STEPS
_STAGES_KEPT = 512  # number of stages whose groups are cached: variants of a graph share most stages


@dataclass(frozen=True, slots=True)
class Grouped:
    request: PlanRequest  # its steps are groups
    sizes: tuple[tuple[int, ...], ...]  # [stage][group]: steps


def group_steps(request: PlanRequest, most: int = MOST_STEPS, groups: int = MOST_GROUPS) -> Grouped:
    """Groups more than `most` steps into the smallest groups that give at most `groups`.

    Groups of all stages use about the same number of bytes: a ring holds the rows of a group, so stages that
    read or write large rows need groups of few steps.
    """
    counts = [len(stage.steps) for stage in request.stages]
    if sum(counts) <= most:
        return Grouped(request, tuple((1,) * count for count in counts))
    sizes = _group_sizes(counts, _bytes_per_step(request), max(groups, len(counts)))
    groups_of = [
        _in_groups(_SharedSteps(stage.steps), size) for stage, size in zip(request.stages, sizes, strict=True)
    ]
    stages = (replace(stage, steps=of.steps) for stage, of in zip(request.stages, groups_of, strict=True))
    return Grouped(replace(request, stages=tuple(stages)), tuple(of.sizes for of in groups_of))


def _bytes_per_step(request: PlanRequest) -> list[int]:
    """Returns about how many bytes of one tensor a step of each stage reads or writes, at least one."""
    row_bytes = {tensor.name: tensor.row_bytes for tensor in request.tensors}
    found = []
    for stage in request.stages:
        reads = zip(stage.reads, zip(*(step.reads for step in stage.steps), strict=True), strict=True)
        writes = zip(stage.writes, zip(*(step.writes for step in stage.steps), strict=True), strict=True)
        used = (len(_hull(rows)) * row_bytes[name] for name, rows in (*reads, *writes))
        found.append(max(max(used, default=0) // max(len(stage.steps), 1), 1))
    return found


def _group_sizes(counts: Sequence[int], step_bytes: Sequence[int], most: int) -> list[int]:
    """Returns the steps of a group of each stage, for the fewest bytes that give at most `most` groups."""

    def sizes(group_bytes: int) -> list[int]:
        return [max(group_bytes // each, 1) for each in step_bytes]

    def is_few(group_bytes: int) -> bool:
        return sum(-(-n // size) for n, size in zip(counts, sizes(group_bytes), strict=True)) <= most

    largest = max((n * each for n, each in zip(counts, step_bytes, strict=True)), default=1)
    return sizes(bisect_left(range(largest), True, key=is_few))


def one_by_one(plan: Plan, grouped: Grouped) -> Plan:
    """Returns the plan with each group replaced by its steps."""
    left = [iter(sizes) for sizes in grouped.sizes]
    taken = [next(left[stage]) for stage in plan.order]
    starts = (0, *accumulate(taken))
    order = (stage for stage, count in zip(plan.order, taken, strict=True) for _ in range(count))
    buffers = {
        name: replace(b, first_step=starts[b.first_step], last_step=starts[b.last_step + 1] - 1)
        for name, b in plan.buffers.items()
    }
    return replace(plan, order=tuple(order), buffers=buffers, peak_step=starts[plan.peak_step])


class _SharedSteps:
    """The steps of a stage, compared by identity: comparing very many is as slow as grouping them."""

    __slots__ = ("steps",)

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self.steps = steps

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SharedSteps) and self.steps is other.steps

    def __hash__(self) -> int:
        return id(self.steps)


@dataclass(frozen=True, slots=True)
class _StageGroups:
    sizes: tuple[int, ...]
    steps: tuple[Step, ...]


@lru_cache(_STAGES_KEPT)
def _in_groups(shared: _SharedSteps, size: int) -> _StageGroups:
    """Groups a stage's steps; a stage whose rows are neither consecutive nor the same stays unchanged."""
    count, each = len(shared.steps), size if _writes_on(shared.steps) else 1
    sizes = tuple(min(each, count - first) for first in range(0, count, each))
    return _StageGroups(sizes, tuple(_groups(shared.steps, sizes)))


def _writes_on(steps: Sequence[Step]) -> bool:
    """Returns whether steps that write continue with the next rows, or all write the same."""
    for written in zip(*(step.writes for step in steps), strict=True):
        there = [rows for rows in written if len(rows)]
        if len(set(there)) > 1 and any(one.stop != other.first for one, other in pairwise(there)):
            return False
    return True


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
