"""The plans found last, by what was asked: boards differ in their kernels more often than in a model's rows.

A model is also planned once more where its weights are to be stored as they are, which changes no row.
"""

from __future__ import annotations

from functools import lru_cache

from aot.plan.planner import find_plan_below, make_plan

_KEPT = 512  # of each kind; most take less than a tenth of a megabyte, as equal steps are there once

least_plan = lru_cache(_KEPT)(make_plan)
plan_below = lru_cache(_KEPT)(find_plan_below)


def forget_plans() -> None:
    """Makes the next request be planned anew: where time is measured, or the planner itself is changed."""
    least_plan.cache_clear()
    plan_below.cache_clear()
