"""Which distances between two blocks would put a live slot of one on a live slot of the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from aot.plan.firings import Ints
from aot.plan.rings import Block, Excuses

# Beyond these sizes neighbouring slots, and neighbouring moments, count as one: coarser, never wrong.
MOST_SLOTS = 2500
MOST_TIMES = 2048
Spans = tuple[tuple[int, int], ...]  # closed, sorted, disjoint
Matrix = NDArray[np.float32]


def forbidden_distances(blocks: Sequence[Block], excuses: Excuses, after: int) -> list[dict[int, Spans]]:
    """[a][b] -> the distances `offset of b - offset of a` that are wrong. Neighbours only."""
    step = after // MOST_TIMES + 1
    groups = _groups(blocks)
    used = [_in_use(block, group, step, after) for block, group in zip(blocks, groups, strict=True)]
    starts = np.concatenate(([0], np.cumsum([len(u) for u in used]))).tolist()
    rows = np.concatenate(used)
    clashes = rows @ rows.T
    points = _excused(clashes, excuses, starts) if step == 1 and max(groups) == 1 else np.zeros_like(clashes)
    found: list[dict[int, Spans]] = [{} for _ in blocks]
    for a, one in enumerate(blocks):
        strip = slice(starts[a], starts[a + 1])
        touching = np.add.reduceat(clashes[strip].sum(axis=0), starts[:-1])
        for b in (np.flatnonzero(touching[a + 1 :]) + a + 1).tolist():
            part = np.s_[strip, starts[b] : starts[b + 1]]
            sizes = one.slot_bytes * groups[a], blocks[b].slot_bytes * groups[b]
            spans = _spans(clashes[part] > 0, points[part] > 0, sizes)
            found[a][b] = spans
            found[b][a] = tuple((-last, -first) for first, last in reversed(spans))
    return found


def _groups(blocks: Sequence[Block]) -> list[int]:
    """Of each block as many neighbouring slots as count as one: the longest blocks are the coarsest."""
    longest = max((block.slots for block in blocks), default=1)
    while longest > 1 and sum(min(block.slots, longest) for block in blocks) > MOST_SLOTS:
        longest //= 2
    return [-(-block.slots // longest) for block in blocks]


def _in_use(block: Block, group: int, step: int, after: int) -> Matrix:
    shape = -(-block.slots // group), after // step + 2
    strip = block.slot // group * shape[1]
    begins = _counts(strip + block.first // step, shape) - _counts(strip + block.last // step + 1, shape)
    return np.asarray(np.cumsum(begins[:, :-1], axis=1) > 0, np.float32)


def _counts(cells: Ints, shape: tuple[int, int]) -> Ints:
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)


def _excused(clashes: Matrix, excuses: Excuses, starts: Sequence[int]) -> Matrix:
    """1 where all clashes of two slots are excused: there one distance is right."""
    counts, first = np.zeros_like(clashes), np.asarray(starts)
    under, over = first[excuses.under_block] + excuses.under, first[excuses.over_block] + excuses.over
    np.add.at(counts, (under, over), 1)
    np.add.at(counts, (over, under), 1)
    return np.asarray((counts > 0) & (counts == clashes), np.float32)


def _spans(clash: NDArray[np.bool_], point: NDArray[np.bool_], sizes: tuple[int, int]) -> Spans:
    """Closed ranges of wrong distances; slots begin at i * sizes[0] and at j * sizes[1]."""
    if clash.all() and not point.any():
        return ((1 - clash.shape[1] * sizes[1], clash.shape[0] * sizes[0] - 1),)
    i, j = np.nonzero(clash & ~point)
    pairs = np.stack((i * sizes[0] - (j + 1) * sizes[1] + 1, (i + 1) * sizes[0] - j * sizes[1] - 1), axis=1)
    i, j = np.nonzero(point)
    meet = i * sizes[0] - j * sizes[1]
    before = np.stack((meet - sizes[1] + 1, meet - 1), axis=1)
    behind = np.stack((meet + 1, meet + sizes[0] - 1), axis=1)
    return _merged(np.concatenate((pairs, before, behind)))


def _merged(pairs: Ints) -> Spans:
    pairs = pairs[pairs[:, 0] <= pairs[:, 1]]
    if not len(pairs):
        return ()
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    ends = np.maximum.accumulate(pairs[:, 1])
    opens = np.concatenate(([True], pairs[1:, 0] > ends[:-1] + 1))
    closes = np.concatenate((opens[1:], [True]))
    return tuple(zip(pairs[opens, 0].tolist(), ends[closes].tolist(), strict=True))
