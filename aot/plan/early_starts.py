"""Moves device starts earlier and waits later, so that devices overlap with the core.

A device starts once its inputs exist, but not before the last step of the previous device stage: one
transfer arrives while the previous data is used, so at most two transfers hold memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from aot.plan.steps import Steps


def starting_stages(steps: Steps, order: Sequence[int]) -> list[int]:
    """Returns the stages that start a device, in order."""
    starting = {number for number, stage in enumerate(steps.request.stages) if stage.starts}
    return [stage for stage in dict.fromkeys(order) if stage in starting]


def started_early(steps: Steps, order: Sequence[int], stage: int) -> tuple[int, ...]:
    """Returns the order with that stage's start as early as possible, after the steps that it depends on."""
    place = order.index(stage)
    early = max(_ready(steps, order, stage), _end_of_the_one_before(steps, order, stage))
    return (
        (*order[:early], stage, *order[early:place], *order[place + 1 :]) if early < place else tuple(order)
    )


def waited_late(steps: Steps, order: Sequence[int], stage: int) -> tuple[int, ...]:
    """Returns the order with that stage's wait after the steps that do not need its result."""
    wait = _last(order, stage)
    taken, before, behind, left = Counter(order[:wait]), list[int](), list[int](), {stage}
    for other in order[wait + 1 :]:
        done = taken[other]
        is_start = steps.request.stages[other].starts and not done
        is_ready = all(taken[name] >= count for name, count in steps.waits[other][done])
        if other in left or is_start or not is_ready:
            behind.append(other)
            left.add(other)
        else:
            before.append(other)
            taken[other] += 1
    return (*order[:wait], *before, stage, *behind)


def _last(order: Sequence[int], stage: int) -> int:
    return len(order) - 1 - order[::-1].index(stage)


def _ready(steps: Steps, order: Sequence[int], stage: int) -> int:
    """Returns the first position at which everything that the first step needs is done."""
    left = dict(steps.waits[stage][0])
    taken: Counter[int] = Counter()
    for position, other in enumerate(order):
        if all(taken[name] >= count for name, count in left.items()):
            return position
        taken[other] += 1
    return len(order)


def _end_of_the_one_before(steps: Steps, order: Sequence[int], stage: int) -> int:
    """Returns the position of the last step of the previous device stage; 0 for the first."""
    starting = starting_stages(steps, order)
    place = starting.index(stage)
    if not place:
        return 0
    return _last(order, starting[place - 1])
