"""Lower bounds of packings, and a solver that improves a packing or proves it optimal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from math import gcd
from typing import Any

from aot.distribution import pip_install
from aot.errors import MissingToolError
from aot.plan.conflicts import Spans
from aot.plan.place import BlockPacking, Placement

MOST_CORED = 12  # number of the largest blocks for which only the core may count
MOST_NODES = 2_000  # of the search tree; fewer give a lower bound that is still valid
MOST_LOOKS = 1_000_000  # sets of blocks visited, in all search trees of a placement together

Ends = tuple[int, int]  # bytes at the start and at the end of a block that another may cover


@dataclass(frozen=True, slots=True)
class _Exclusions:
    """The parts of each block that no other block of a set covers."""

    sizes: tuple[int, ...]
    ends: tuple[dict[int, Ends], ...]  # [block][other]: no entry if their distance is free

    def core(self, block: int, others: tuple[int, ...]) -> int:
        """Returns the bytes between the parts that the others may cover at either end."""
        ends = [self.ends[block][other] for other in others if other in self.ends[block]]
        begin, end = (max((covered[n] for covered in ends), default=0) for n in (0, 1))
        return max(self.sizes[block] - begin - end, 0)

    def weights(self, cored: frozenset[int], among: tuple[int, ...]) -> list[int]:
        return [self.core(n, among) if n in cored else size for n, size in enumerate(self.sizes)]

    def excluded(self, block: int, cored: frozenset[int]) -> set[int]:
        """Returns the blocks that share no byte with it (with its core, if it is in `cored`)."""
        return {
            other
            for other, ends in self.ends[block].items()
            if block in cored or other in cored or ends == (0, 0)
        }


def placement_floor(packing: BlockPacking) -> int:
    """Returns a lower bound, in bytes, of any placement of these blocks."""
    them = _exclusions(packing)
    everything = tuple(range(len(them.sizes)))
    budget = _Budget(MOST_LOOKS)
    best, cored = _heaviest(them, frozenset(), everything, budget), frozenset[int]()
    for block in sorted(everything, key=lambda n: (-them.sizes[n], n))[:MOST_CORED]:
        found = _heaviest(them, cored | {block}, everything, budget) if budget.looks > 0 else 0
        if found > best:
            best, cored = found, cored | {block}
    return best


def _exclusions(packing: BlockPacking) -> _Exclusions:
    sizes, ends = tuple(packing.sizes), [dict[int, Ends]() for _ in packing.sizes]
    for block, neighbours in enumerate(packing.neighbours):
        for other, spans in neighbours:
            if len(spans) == 1:  # forbidden values of `offset of block - offset of other`
                first, last = spans[0]
                begin, end = max(sizes[block] + first - 1, 0), max(sizes[other] - last - 1, 0)
                ends[other][block] = begin, end
    return _Exclusions(sizes, tuple(ends))


@dataclass
class _Budget:
    """The remaining work."""

    looks: int


def _heaviest(them: _Exclusions, cored: frozenset[int], everything: tuple[int, ...], budget: _Budget) -> int:
    weights = them.weights(cored, everything)
    search = _CliqueSearch(weights, [them.excluded(n, cored) for n in everything], budget)
    search.run([n for n in sorted(everything, key=lambda n: -weights[n]) if weights[n]], 0, ())
    return sum(them.core(n, search.best) if n in cored else them.sizes[n] for n in search.best)


class _CliqueSearch:
    """Finds the heaviest set of mutually exclusive blocks by branch and bound."""

    def __init__(self, weights: list[int], excluded: list[set[int]], budget: _Budget) -> None:
        self.weights, self.excluded, self.budget = weights, excluded, budget
        self.masks = [sum(1 << other for other in others) for others in excluded]  # sets as bit masks
        self.heaviest, self.best, self.nodes = 0, tuple[int, ...](), 0

    def run(self, candidates: list[int], weight: int, chosen: tuple[int, ...]) -> None:
        self.nodes += 1
        if weight > self.heaviest:
            self.heaviest, self.best = weight, chosen
        while candidates and self._may_go_on() and weight + self._most(candidates) > self.heaviest:
            taken, *candidates = candidates
            allowed = [n for n in candidates if n in self.excluded[taken]]
            self.run(allowed, weight + self.weights[taken], (*chosen, taken))

    def _most(self, candidates: list[int]) -> int:
        """Returns an upper bound of the weight to add: of blocks that may share bytes, one counts."""
        classes: list[int] = []
        most = 0
        for n in candidates:
            excluded = self.masks[n]
            for number, together in enumerate(classes):
                if not excluded & together:
                    classes[number] = together | 1 << n
                    break
            else:
                number = len(classes)
                classes.append(1 << n)
                most += self.weights[n]
            self.budget.looks -= number + 1
        return most

    def _may_go_on(self) -> bool:
        return self.nodes < MOST_NODES and self.budget.looks > 0


# Improves a packing with a constraint solver, or proves it optimal.
#
# Uses CP-SAT of OR-Tools. Distances of two blocks are kept out of the same forbidden ranges as in the search,
# so blocks may overlap here if they may overlap there.


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
