"""Caches recent plans: boards often differ in kernels but not in a model's rows.

A second plan of a model with untransformed weights also has the same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Generic, TypeVar

from aot.plan.model import PlanRequest
from aot.plan.planner import find_plan_below, make_plan

T = TypeVar("T")

_FEW_STAGES = 3
_KEPT_OF_FEW = 4096  # plans, some thousand bytes each
_KEPT = 512  # most have less than 100 KB, since equal steps are shared


class PlansFound(Generic[T]):
    """Caches the results of one search. A tuner's many single layers do not evict models."""

    def __init__(self, find: Callable[..., T]) -> None:
        self._of_few, self._others = lru_cache(_KEPT_OF_FEW)(find), lru_cache(_KEPT)(find)

    def __call__(self, request: PlanRequest, *options: object) -> T:
        kept = self._of_few if len(request.stages) <= _FEW_STAGES else self._others
        return kept(request, *options)

    @property
    def searches(self) -> int:
        return self._of_few.cache_info().misses + self._others.cache_info().misses

    def forget(self) -> None:
        self._of_few.cache_clear()
        self._others.cache_clear()


least_plan = PlansFound(make_plan)
plan_below = PlansFound(find_plan_below)


def forget_plans() -> None:
    """Empties the cache, for time measurements and for tests that change the planner."""
    least_plan.forget()
    plan_below.forget()
