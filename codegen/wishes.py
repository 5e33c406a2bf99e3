"""What layers would be faster with and memory may have room for: wide rows, margins where edges are slow.

A wish is a layer's name. What it takes is told from the rows that are live in the plan as it is: whoever
grants it makes a plan to be sure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from aot.plan.room import Room
from codegen.fits import Choice, Fit, work_of
from codegen.stages import LoweredStage

_FELT = 500  # a layer is, that has more than this part of all multiplications
_COPIED = 16  # what is copied to be wide is multiplied as often at least


@dataclass(frozen=True)
class _Growth:
    """Of the rows that a layer reads."""

    layer: str
    stage: str
    tensor: str  # that grows, or the copy that is made of it
    row_bytes: int  # more of each row
    rows: int  # of a copy that there are at once
    is_copy: bool
    copying: int  # as many multiplications as take the time of copying

    def take(self, room: Room, granted: int) -> bool:
        """Beside what others that read the same rows have been granted."""
        more = self.row_bytes - granted
        if more <= 0:
            return True
        return room.add(self.stage, more * self.rows) if self.is_copy else room.lengthen(self.tensor, more)


def wishes_granted(choice: Choice, layers: tuple[str, ...]) -> Choice:
    """Whole tensors stay as narrow as they are: they are there to compare rows with."""
    wide = choice.wide | {*layers} if choice.options.rows else choice.wide
    return replace(choice, wide=wide, bare=choice.bare - ({*layers} & _slower(choice)))


def affordable_wishes(fit: Fit, limit: int) -> tuple[str, ...]:
    """Heaviest first; those that have no room, or would not be felt, are left out."""
    work, room = work_of(fit.choice.graph), Room(fit.grouped.request, fit.plan, limit)
    least = sum(work.values()) // _FELT
    felt = [growth for growth in _growths(fit.choice) if work[growth.layer] > max(least, growth.copying)]
    growths = sorted(felt, key=lambda growth: (-work[growth.layer], growth.layer))
    granted: dict[str, int] = {}  # tensor that grows -> by how much
    found = []
    for growth in growths:
        before = granted.get(growth.tensor, 0)
        if growth.take(room, before):
            granted[growth.tensor] = max(growth.row_bytes, before)
            found.append(growth.layer)
    return tuple(found)


def _growths(choice: Choice) -> Iterator[_Growth]:
    lavish = wishes_granted(choice, tuple(name for name, work in work_of(choice.graph).items() if work))
    before = {stage.node.name: stage for stage in choice.lowered.stages if stage.node is not None}
    for stage in lavish.lowered.stages:
        if stage.node is not None and stage.reads and stage.node.name in before:
            growth = _growth(choice, lavish, before[stage.node.name], stage)
            if growth is not None:
                yield growth


def _growth(choice: Choice, lavish: Choice, before: LoweredStage, after: LoweredStage) -> _Growth | None:
    """None where the layer would read the same."""
    assert after.node is not None
    reading = after.reads[0]
    old, new = choice.lowered.tensors.get(reading.tensor), lavish.lowered.tensors[reading.tensor]
    row_bytes = new.format.row_bytes - (old.format.row_bytes if old is not None else 0)
    if row_bytes <= 0:
        return None
    rows = min(reading.access.count, new.rows)
    copying = _COPIED * row_bytes * new.rows // new.format.dtype_bytes if old is None else 0
    return _Growth(after.node.name, before.name, reading.tensor, row_bytes, rows, old is None, copying)


def _slower(choice: Choice) -> set[str]:
    """Layers that would be faster with margins."""
    stages = choice.lowered.stages
    return {s.node.name for s in stages if s.node is not None and s.kernel.slowed_by_edges}
