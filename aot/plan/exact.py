"""Improves a packing with a constraint solver, or proves it optimal.

Uses CP-SAT of OR-Tools. Distances of two blocks are kept out of the same forbidden ranges as in the search,
so blocks may overlap here if they may overlap there.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import gcd
from typing import Any

from aot.distribution import pip_install
from aot.errors import MissingToolError
from aot.plan.conflicts import Spans
from aot.plan.place import BlockPacking, Placement

MOST_EFFORT = 15.0  # in the solver's deterministic unit; a time limit would make plans depend on the machine


def solve_placement(packing: BlockPacking, best: Placement, bound: int) -> tuple[Placement, bool]:
    """Returns the best placement in the only pool, and whether it is proven smallest. Raises ToolError."""
    try:
        from ortools.sat.python import cp_model
    except ImportError as error:
        raise MissingToolError(
            "the exact planner needs the Python package ortools, which is not installed",
            hint=pip_install("exact"),
        ) from error
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1  # several workers are not deterministic
    solver.parameters.max_deterministic_time = MOST_EFFORT
    model = cp_model.CpModel()
    offsets = _state(model, cp_model.Domain, packing, best, bound)
    status = solver.solve(model)
    is_proven = status in (
        cp_model.OPTIMAL,
        cp_model.INFEASIBLE,
    )  # infeasible: nothing is smaller than `best`
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return best, is_proven
    found = tuple(solver.value(offset) * _unit(packing) for offset in offsets)
    end = max(offset + size for offset, size in zip(found, packing.sizes, strict=True))
    return replace(best, offsets=found, ends=(end,), missing=0), is_proven


def _unit(packing: BlockPacking) -> int:
    return gcd(*(block.align for block in packing.blocks))


def _state(model: Any, domain: Any, packing: BlockPacking, best: Placement, bound: int) -> list[Any]:
    """Adds variables, constraints and the goal to the model. Returns the offsets, in units."""
    unit, most = _unit(packing), best.ends[0] - 1
    end = model.new_int_var(bound, most, "end")
    offsets = [
        model.new_int_var_from_domain(_places(domain, most - size, unit, block.align), block.name)
        for block, size in zip(packing.blocks, packing.sizes, strict=True)
    ]
    for offset, size in zip(offsets, packing.sizes, strict=True):
        model.add(unit * offset + size <= end)
    for one, other in combinations(range(len(offsets)), 2):
        spans = dict(packing.neighbours[other]).get(one, ())
        if spans:
            right = domain.from_intervals(_gaps(spans, most, unit))
            model.add_linear_expression_in_domain(offsets[other] - offsets[one], right)
    model.minimize(end)
    return offsets


def _places(domain: Any, last: int, unit: int, align: int) -> Any:
    """Returns the domain of a block's offset, 0 to `last`, in units."""
    return domain.from_values(range(0, max(last, 0) // unit + 1, align // unit))


def _gaps(spans: Spans, most: int, unit: int) -> list[list[int]]:
    """Returns allowed distances in units: closed ranges between the forbidden ones."""
    starts = [-most, *(last + 1 for _, last in spans)]
    ends = [*(first - 1 for first, _ in spans), most]
    ranges = [[-(-start // unit), end // unit] for start, end in zip(starts, ends, strict=True)]
    return [[start, end] for start, end in ranges if start <= end]
