"""Placement by a mixed-integer solver: a better one where there is one, or the proof that there is none.

HiGHS solves it: a kept library under a free licence, one small wheel that needs nothing but NumPy. For each
pair of blocks that may not lie just anywhere, one of the gaps between their wrong distances is chosen; the
distances come from the same lives of rows as in the search: blocks may overlap here where they may there.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import gcd
from typing import Any

from aot.errors import ToolError
from aot.plan.conflicts import Spans
from aot.plan.place import Board, Placement

MOST_NODES = 5_000  # of the solver's search tree: a limit of time would give other plans on other days


def solve_placement(board: Board, best: Placement, bound: int) -> tuple[Placement, bool]:
    """The best placement in the only pool, and whether none is smaller for sure. Raises ToolError."""
    try:
        import highspy
    except ImportError as error:
        raise ToolError(
            "the exact planner needs the Python package highspy, which is not installed",
            hint="pip install 'solder[exact]'",
        ) from error
    solver = highspy.Highs()
    for option, value in (("output_flag", False), ("threads", 1), ("mip_max_nodes", MOST_NODES)):
        solver.setOptionValue(option, value)
    offsets = _solve(solver, board, best, bound, _unit(board))
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:  # nothing is smaller than `best`
        return best, True
    if solver.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return best, False
    unit, values = _unit(board), solver.getSolution().col_value
    found = tuple(round(values[offset.index]) * unit for offset in offsets)
    end = max(offset + size for offset, size in zip(found, board.sizes, strict=True))
    placement = replace(best, offsets=found, ends=(end,), missing=0)
    return placement, status == highspy.HighsModelStatus.kOptimal


def _unit(board: Board) -> int:
    return gcd(*(block.align for block in board.blocks))


def _solve(solver: Any, board: Board, best: Placement, bound: int, unit: int) -> list[Any]:
    """Solves for the least end below that of `best`; the variables of the offsets, in units."""
    most = best.ends[0] - 1
    end = solver.addVariable(lb=bound, ub=most, obj=1.0)
    offsets = [_offset(solver, block.align, size, most, unit) for block, size in _blocks(board)]
    for offset, size in zip(offsets, board.sizes, strict=True):
        solver.addConstr(unit * offset + size <= end)
    for one, other in combinations(range(len(offsets)), 2):
        spans = dict(board.neighbours[other]).get(one, ())
        if spans:
            _choose_gap(solver, offsets[other] - offsets[one], _gaps(spans, most, unit))
    solver.run()
    return offsets


def _blocks(board: Board) -> list[tuple[Any, int]]:
    return list(zip(board.blocks, board.sizes, strict=True))


def _offset(solver: Any, align: int, size: int, most: int, unit: int) -> Any:
    last = max((most - size) // unit, 0)
    offset = solver.addIntegral(lb=0, ub=last)
    if align > unit:
        multiple = solver.addIntegral(lb=0, ub=last * unit // align)
        solver.addConstr(unit * offset == align * multiple)
    return offset


def _gaps(spans: Spans, most: int, unit: int) -> list[tuple[int, int]]:
    """Right distances in units: closed ranges between the wrong ones."""
    starts = [-most, *(last + 1 for _, last in spans)]
    ends = [*(first - 1 for first, _ in spans), most]
    ranges = [(-(-start // unit), end // unit) for start, end in zip(starts, ends, strict=True)]
    return [(start, end) for start, end in ranges if start <= end]


def _choose_gap(solver: Any, distance: Any, gaps: list[tuple[int, int]]) -> None:
    """The distance lies in one of the gaps: the tightest form, without a large constant."""
    chosen = [solver.addBinary() for _ in gaps]
    solver.addConstr(sum(chosen) == 1)
    solver.addConstr(distance - sum(gap[0] * pick for gap, pick in zip(gaps, chosen, strict=True)) >= 0)
    solver.addConstr(distance - sum(gap[1] * pick for gap, pick in zip(gaps, chosen, strict=True)) <= 0)
