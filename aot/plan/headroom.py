"""Headroom of a plan: bytes that could be live under a limit beside its rows, found without another plan.

Rings and their places need more than what is live, so a plan must be made before headroom counts as sure.
"""

from __future__ import annotations

import numpy as np

from aot.plan.lives import bytes_over_time, live
from aot.plan.model import Plan, PlanRequest
from aot.plan.steps import Ints, number_steps


class PlanHeadroom:
    """Counts the bytes that are free at each time; bytes that are taken are free no longer."""

    def __init__(self, request: PlanRequest, plan: Plan, limit: int) -> None:
        steps = number_steps(request)
        self._lives = live(steps, plan.order)
        self._free = limit - bytes_over_time(steps, self._lives)
        tensors = zip(request.tensors, steps.row_starts[:-1], steps.row_starts[1:], strict=True)
        self._rows = {tensor.name: slice(first, stop) for tensor, first, stop in tensors}
        stages = zip(request.stages, steps.starts[:-1], steps.starts[1:], strict=True)
        self._steps = {stage.name: slice(first, stop) for stage, first, stop in stages}

    def grow_rows(self, tensor: str, row_bytes: int) -> bool:
        """Takes so many bytes for each row of the tensor, and says whether they were free."""
        rows = self._rows[tensor]
        return self._take(row_bytes * self._there(self._lives.born[rows], self._lives.dies[rows]))

    def reserve(self, stage: str, size: int) -> bool:
        """Takes bytes from a stage's first step to its last, and says whether they were free."""
        times = self._lives.times[self._steps[stage]]
        return self._take(size * self._there(times[:1], times[-1:]))

    def _take(self, need: Ints) -> bool:
        if bool(np.any((need > self._free) & (need > 0))):
            return False
        self._free = self._free - need
        return True

    def _there(self, born: Ints, dies: Ints) -> Ints:
        """Counts how many of these exist at each time."""
        there, times = born <= dies, len(self._free) + 1
        change = np.bincount(born[there], minlength=times) - np.bincount(dies[there] + 1, minlength=times)
        return np.cumsum(change)[: len(self._free)]
