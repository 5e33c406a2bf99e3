"""Upgrades: widened rows, scratch or padding, for layers that are faster with it and have room to grow.

An upgrade is a layer's name. Whether memory has room is estimated from the rows that are live in the present
plan; only a new plan proves it.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from fractions import Fraction

from aot.ops.windows import Windows
from aot.plan.headroom import PlanHeadroom
from aot.records import dataclass
from codegen.fit.variant import PlannedVariant, Variant, work_of
from codegen.lower.stages import LoweredStage

_MIN_WORK_SHARE = Fraction(1, 500)  # of all multiplications: lighter layers are not worth an upgrade
_MACS_PER_COPIED_ELEMENT = 16  # at least, for an input that is copied into widened rows, or made by copies


@dataclass(frozen=True)
class _Growth:
    """The bytes by which the rows that a layer reads, or its scratch, would grow with its upgrade."""

    layer: str
    stage: str
    tensor: str  # the one that grows, or the copy that is made of it; the stage, where scratch grows
    row_bytes: int  # by which each row grows
    rows: int  # of a copy that are there at once
    is_apart: bool  # a copy, or scratch: there only while the stage runs
    copying: int  # multiplications that take as long as copying

    def take(self, headroom: PlanHeadroom, taken: int) -> bool:
        """Takes headroom for it, if there is enough.

        Layers that read the same rows took `taken` bytes of each row already.
        """
        more = self.row_bytes - taken
        if more <= 0:
            return True
        return (
            headroom.reserve(self.stage, more * self.rows)
            if self.is_apart
            else headroom.grow_rows(self.tensor, more)
        )


def with_upgrades(variant: Variant, layers: tuple[str, ...]) -> Variant:
    """The variant with these layers upgraded. Whole tensors are not widened: rows are compared with them."""
    now, chosen = variant.decisions, frozenset(layers)
    widened = now.widened | chosen if variant.options.takes_turns else now.widened
    return variant.decided(widened=widened, unpadded=now.unpadded - (chosen & _slower(variant)))


def affordable_upgrades(planned: PlannedVariant, limit: int) -> tuple[str, ...]:
    """Returns the layers that are worth an upgrade and seem to have room for it, most work first."""
    work, headroom = (
        work_of(planned.variant.graph),
        PlanHeadroom(planned.grouped.request, planned.plan, limit),
    )
    least = int(sum(work.values()) * _MIN_WORK_SHARE)
    growths = [each for each in _growths(planned.variant) if work[each.layer] > max(least, each.copying)]
    growths.sort(key=lambda growth: (-work[growth.layer], growth.layer))
    taken: dict[str, int] = {}  # tensor that grows -> by how much
    found = []
    for growth in growths:
        before = taken.get(growth.tensor, 0)
        if growth.take(headroom, before):
            taken[growth.tensor] = max(growth.row_bytes, before)
            found.append(growth.layer)
    return tuple(found)


def _growths(variant: Variant) -> Iterator[_Growth]:
    """Yields what grows between the variant as it is and with all upgrades."""
    upgraded = with_upgrades(variant, tuple(name for name, work in work_of(variant.graph).items() if work))
    before = {stage.node.name: stage for stage in variant.lowered.stages if stage.node is not None}
    windows = _windows(upgraded)
    for stage in upgraded.lowered.stages:
        if stage.node is not None and stage.reads and stage.node.name in before:
            growth = _growth(variant, upgraded, before[stage.node.name], stage, windows)
            if growth is not None:
                yield growth


def _growth(
    variant: Variant, upgraded: Variant, before: LoweredStage, after: LoweredStage, windows: Set[str]
) -> _Growth | None:
    """Returns how the rows of one layer grow, or its scratch; None if neither does."""
    assert after.node is not None
    reading = after.reads[0]
    old, new = variant.lowered.tensors.get(reading.tensor), upgraded.lowered.tensors[reading.tensor]
    is_copied = old is None or reading.tensor in windows
    row_bytes = new.format.row_bytes - (old.format.row_bytes if old is not None else 0)
    if row_bytes <= 0:
        more = after.kernel.scratch_bytes - before.kernel.scratch_bytes
        return _Growth(after.node.name, before.name, after.name, more, 1, True, 0) if more > 0 else None
    rows = min(reading.access.count, new.rows)
    elements = row_bytes * new.rows // new.format.dtype_bytes
    copying = _MACS_PER_COPIED_ELEMENT * elements * is_copied
    return _Growth(after.node.name, before.name, reading.tensor, row_bytes, rows, old is None, copying)


def _windows(variant: Variant) -> Set[str]:
    """The tensors that are windows along a line: each element lies there in several copies."""
    stages = variant.lowered.stages
    return {s.result.tensor for s in stages if s.node is not None and isinstance(s.node.op, Windows)}


def _slower(variant: Variant) -> set[str]:
    """Returns the layers that would be faster with padding."""
    stages = variant.lowered.stages
    return {s.node.name for s in stages if s.node is not None and s.kernel.slowed_by_edges}
