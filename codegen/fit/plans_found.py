"""The plans found last, by what was asked: boards differ in their kernels more often than in a model's rows.

A model is also planned once more where its weights are to be stored as they are, which changes no row.
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
_KEPT = 512  # most take less than a tenth of a megabyte, as equal steps are there once


class PlansFound(Generic[T]):
    """Keeps the answers of one search. Single layers, of which tuners make many, push out no model."""

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
    """Makes the next request be planned anew: where time is measured, or the planner itself is changed."""
    least_plan.forget()
    plan_below.forget()
