"""Finds the distances between two blocks at which live positions of both would overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from aot.plan.rings import AllowedOverlaps, Block
from aot.plan.steps import Ints

# Beyond these sizes neighboring positions, or neighboring times, count as one: coarser, never wrong.
MOST_POSITIONS = 2500
MOST_TIMES = 2048
Spans = tuple[tuple[int, int], ...]  # closed, sorted, disjoint
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class _Uses:
    """The time spans in which positions of a block are in use: disjoint, ordered by position."""

    positions: int
    position: Ints  # by span
    first: Ints
    last: Ints

    @cached_property
    def is_once(self) -> bool:
        """Returns whether each position is in use for one span only, like the rows of a whole tensor."""
        return len(self.position) == self.positions and bool(
            (self.position == np.arange(self.positions)).all()
        )

    @property
    def is_one(self) -> bool:
        """Returns whether there is a single position that is in use once."""
        return self.positions == 1 and len(self.position) == 1

    @property
    def hull(self) -> tuple[int, int]:
        return int(self.first.min(initial=1 << 40)), int(self.last.max(initial=-1))


def forbidden_distances(
    blocks: Sequence[Block], overlaps: AllowedOverlaps, after: int
) -> list[dict[int, Spans]]:
    """Returns [a][b]: the forbidden distances `offset of b - offset of a` of blocks that can collide."""
    step = after // MOST_TIMES + 1
    groups = _groups(blocks)
    uses = [_uses(block, group, step, after) for block, group in zip(blocks, groups, strict=True)]
    allowed = _allowed_positions(overlaps) if step == 1 and max(groups) == 1 else {}
    found: list[dict[int, Spans]] = [{} for _ in blocks]
    sizes_in_one = [block.bytes if its.is_one else 0 for block, its in zip(blocks, uses, strict=True)]
    for a, b in _contemporaries(uses):
        if sizes_in_one[a] and sizes_in_one[b] and (a, b) not in allowed:  # most pairs of a large graph
            found[a][b] = ((1 - sizes_in_one[b], sizes_in_one[a] - 1),)
            found[b][a] = ((1 - sizes_in_one[a], sizes_in_one[b] - 1),)
            continue
        clash = _clash(uses[a], uses[b])
        if clash.any():
            point = _points(uses[a], uses[b], allowed[a, b]) if (a, b) in allowed else None
            sizes = blocks[a].position_bytes * groups[a], blocks[b].position_bytes * groups[b]
            found[a][b] = spans = _spans(clash, point, sizes)
            found[b][a] = tuple((-last, -first) for first, last in reversed(spans))
    return found


def _groups(blocks: Sequence[Block]) -> list[int]:
    """Returns how many neighboring positions of each block count as one: more for longer blocks."""
    longest = max((block.positions for block in blocks), default=1)
    while longest > 1 and sum(min(block.positions, longest) for block in blocks) > MOST_POSITIONS:
        longest //= 2
    return [-(-block.positions // longest) for block in blocks]


def _uses(block: Block, group: int, step: int, after: int) -> _Uses:
    width = after // step + 3  # so that spans of two positions never touch
    strip = block.position // group * width
    spans = np.asarray(_merged(np.stack((strip + block.first // step, strip + block.last // step), axis=1)))
    first, last = spans.reshape(-1, 2).T
    position = first // width
    return _Uses(-(-block.positions // group), position, first - position * width, last - position * width)


def _contemporaries(uses: Sequence[_Uses]) -> list[tuple[int, int]]:
    """Returns pairs of blocks, lower number first, that are live at the same time."""
    begins, ends = np.asarray([its.hull for its in uses]).reshape(-1, 2).T
    a, b = np.nonzero(np.triu((begins[:, np.newaxis] <= ends) & (begins <= ends[:, np.newaxis]), 1))
    return list(zip(a.tolist(), b.tolist(), strict=True))


def _clash(one: _Uses, other: _Uses) -> Bools:
    """Marks the pairs of positions of two blocks that are in use at the same time."""
    meet = (one.first[:, np.newaxis] <= other.last) & (other.first <= one.last[:, np.newaxis])
    if one.is_once and other.is_once:
        return meet
    i, j = np.nonzero(meet)
    clash = np.zeros((one.positions, other.positions), np.bool_)
    clash[one.position[i], other.position[j]] = True
    return clash


def _allowed_positions(overlaps: AllowedOverlaps) -> dict[tuple[int, int], Ints]:
    """Maps two blocks, lower number first, to the pairs of positions that may overlap, one per time."""
    under = np.stack((overlaps.under_block, overlaps.under), axis=1)
    over = np.stack((overlaps.over_block, overlaps.over), axis=1)
    is_turned = (under[:, 0] > over[:, 0])[:, np.newaxis]
    pairs = np.concatenate((np.where(is_turned, over, under), np.where(is_turned, under, over)), axis=1)
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for a, position, b, other in pairs.tolist():
        found.setdefault((a, b), []).append((position, other))
    return {them: np.asarray(positions) for them, positions in found.items()}


def _points(one: _Uses, other: _Uses, allowed: Ints) -> Bools:
    """Marks pairs of positions whose clashes are all allowed: for these, one distance is right."""
    first = np.maximum(one.first[:, np.newaxis], other.first)
    i, j = np.nonzero(first <= np.minimum(one.last[:, np.newaxis], other.last))
    moments = np.minimum(one.last[i], other.last[j]) - first[i, j] + 1
    clashes, permitted = np.zeros((2, one.positions, other.positions), np.int64)
    np.add.at(clashes, (one.position[i], other.position[j]), moments)
    np.add.at(permitted, (allowed[:, 0], allowed[:, 1]), 1)
    return np.asarray((permitted > 0) & (permitted == clashes))


def _spans(clash: Bools, point: Bools | None, sizes: tuple[int, int]) -> Spans:
    """Returns closed ranges of forbidden distances; positions begin at i * sizes[0] and j * sizes[1]."""
    if point is None or not point.any():
        if clash.all():
            return ((1 - clash.shape[1] * sizes[1], clash.shape[0] * sizes[0] - 1),)
        return _merged(_wrong(clash, sizes))
    i, j = np.nonzero(point)
    meet = i * sizes[0] - j * sizes[1]
    before = np.stack((meet - sizes[1] + 1, meet - 1), axis=1)
    behind = np.stack((meet + 1, meet + sizes[0] - 1), axis=1)
    return _merged(np.concatenate((_wrong(clash & ~point, sizes), before, behind)))


def _wrong(clash: Bools, sizes: tuple[int, int]) -> Ints:
    """Returns forbidden distances; neighboring positions of the second block count as one."""
    is_there = np.zeros((len(clash), clash.shape[1] + 2), np.int8)
    is_there[:, 1:-1] = clash
    edges = np.diff(is_there, axis=1)
    (i, begin), (_, end) = np.nonzero(edges > 0), np.nonzero(edges < 0)
    return np.stack((i * sizes[0] - end * sizes[1] + 1, (i + 1) * sizes[0] - begin * sizes[1] - 1), axis=1)


def _merged(pairs: Ints) -> Spans:
    pairs = pairs[pairs[:, 0] <= pairs[:, 1]]
    if not len(pairs):
        return ()
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    ends = np.maximum.accumulate(pairs[:, 1])
    opens = np.concatenate(([True], pairs[1:, 0] > ends[:-1] + 1))
    closes = np.concatenate((opens[1:], [True]))
    return tuple(zip(pairs[opens, 0].tolist(), ends[closes].tolist(), strict=True))
