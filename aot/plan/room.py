"""What more could be live under a limit beside the rows of a plan: a first look, without making another.

Rings and their places need more than what is live: whoever takes room here makes a plan to be sure.
"""

from __future__ import annotations

import numpy as np

from aot.plan.firings import Ints, number_firings
from aot.plan.lives import bytes_over_time, live
from aot.plan.model import Plan, PlanRequest


class Room:
    """Bytes free over time; they become fewer as they are taken."""

    def __init__(self, request: PlanRequest, plan: Plan, limit: int) -> None:
        firings = number_firings(request)
        self._lives = live(firings, plan.order)
        self._free = limit - bytes_over_time(firings, self._lives)
        tensors = zip(request.tensors, firings.row_starts[:-1], firings.row_starts[1:], strict=True)
        self._rows = {tensor.name: slice(first, stop) for tensor, first, stop in tensors}
        stages = zip(request.stages, firings.starts[:-1], firings.starts[1:], strict=True)
        self._fired = {stage.name: slice(first, stop) for stage, first, stop in stages}

    def lengthen(self, tensor: str, row_bytes: int) -> bool:
        """Whether each row of the tensor may be so much longer: taken if so."""
        rows = self._rows[tensor]
        return self._take(row_bytes * self._there(self._lives.born[rows], self._lives.dies[rows]))

    def add(self, stage: str, size: int) -> bool:
        """Whether so many bytes more may be there from a stage's first firing to its last: taken if so."""
        times = self._lives.times[self._fired[stage]]
        return self._take(size * self._there(times[:1], times[-1:]))

    def _take(self, need: Ints) -> bool:
        if bool(np.any((need > self._free) & (need > 0))):
            return False
        self._free = self._free - need
        return True

    def _there(self, born: Ints, dies: Ints) -> Ints:
        """How many of these are there, over time."""
        there, times = born <= dies, len(self._free) + 1
        change = np.bincount(born[there], minlength=times) - np.bincount(dies[there] + 1, minlength=times)
        return np.cumsum(change)[: len(self._free)]
