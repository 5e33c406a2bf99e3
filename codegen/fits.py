"""A graph on its way to memory: lowered with some layers wide and some bare, and planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from aot.errors import FitError, ModelError
from aot.ir.graph import Graph
from aot.plan.check import check_plan
from aot.plan.groups import Grouped, group_firings, one_by_one
from aot.plan.model import Plan, PlanRequest, PlanTensor, Pool
from aot.plan.planner import find_plan_below, make_plan, plan_like
from aot.target import Optimize, Target
from codegen.callers_io import without_io
from codegen.kernels.knobs import Point
from codegen.lower import KernelsMade, lower_graph
from codegen.model import CompileOptions
from codegen.stage_rows import plan_stages, plan_tensors
from codegen.stages import Lowered

MOST_ROWS = 1_000_000  # planned in a second and a quarter of a gigabyte
_MORE_ROOM = "a larger --pool, one more of them, or --optimize ram"


@dataclass(frozen=True)
class Fitted:
    """Stages and the plan of their memory."""

    lowered: Lowered
    request: PlanRequest
    plan: Plan


@dataclass(frozen=True)
class Fit:
    """A choice and a plan for it, which is still to be checked."""

    choice: Choice
    grouped: Grouped
    plan: Plan

    def checked(self) -> Fitted:
        check_plan(self.grouped.request, self.plan)
        request, plan = self.choice.request, self.plan
        used = tuple(pool for pool in request.pools if plan.pool_bytes[pool.name]) or request.pools[:1]
        sizes = {pool.name: plan.pool_bytes[pool.name] for pool in used}
        plan = one_by_one(replace(plan, pool_bytes=sizes), self.grouped)
        return Fitted(self.choice.lowered, replace(request, pools=used), plan)


@dataclass(frozen=True)
class Choice:
    """What differs between fits of a graph: which layers may have wide rows, and which do without margins."""

    graph: Graph
    target: Target
    options: CompileOptions
    tuned: Mapping[str, Point]
    pools: tuple[Pool, ...]
    wide: frozenset[str] = frozenset()
    bare: frozenset[str] = frozenset()
    made: KernelsMade = field(default_factory=dict)  # for other choices

    @cached_property
    def lowered(self) -> Lowered:
        return lower_graph(self.graph, self.target, self.options, self.wide, self.tuned, self.bare, self.made)

    @cached_property
    def request(self) -> PlanRequest:
        options = self.options
        # Margins that are written once are worth some bytes, unless bytes are what is short.
        steady = options.optimize is not Optimize.RAM and options.ram_bytes is None
        tensors = plan_tensors(self.lowered, steady)
        _require_plannable(tensors)
        stages = plan_stages(self.lowered, work_of(self.graph))
        if options.io_apart:
            tensors, stages = without_io(tensors, stages)
        return PlanRequest(tensors, stages, self.pools, options.rows)

    @property
    def memory(self) -> object:
        """Equal for choices whose rows are as long and are asked for alike."""
        formats = [(tensor.name, tensor.format) for tensor in self.lowered.tensors.values()]
        stages = [(s.name, s.op, s.kernel.whole, s.reads, s.result) for s in self.lowered.stages]
        return formats, stages

    def least(self) -> Fit:
        """In as little memory as the planner finds. Raises FitError."""
        grouped = group_firings(self.request)
        try:
            return Fit(self, grouped, make_plan(grouped.request, self.options.exact))
        except FitError as error:
            raise FitError(error.what, error.where, _MORE_ROOM) from None

    def below(self, limit: int) -> Fit | None:
        """The least, where it needs less."""
        grouped = group_firings(self.request)
        plan = find_plan_below(grouped.request, limit, self.options.exact)
        return None if plan is None else Fit(self, grouped, plan)

    def like(self, other: Fit, limit: int, exact: bool = False) -> Fit | None:
        """In the order of another, where that needs at most so much."""
        grouped = group_firings(self.request)
        plan = plan_like(grouped.request, other.grouped.request, other.plan, limit, exact)
        return None if plan is None else Fit(self, grouped, plan)


def limit_in(pools: Sequence[Pool], options: CompileOptions) -> int | None:
    """What the arena may take: what the options say, or all pools together."""
    sizes = [pool.bytes for pool in pools if pool.bytes is not None]
    given = [options.ram_bytes] if options.ram_bytes is not None else []
    offered = [sum(sizes)] if len(sizes) == len(pools) else []
    return min((*given, *offered), default=None)


def work_of(graph: Graph) -> Mapping[str, int]:
    """Node -> its multiplications."""
    return {n.name: n.op.cost(graph.input_types(n), graph.output_types(n)).macs for n in graph.nodes}


def _require_plannable(tensors: Sequence[PlanTensor]) -> None:
    """Before gigabytes are filled with the lives of rows that no microcontroller has."""
    rows = sum(tensor.rows for tensor in tensors)
    if rows > MOST_ROWS:
        most = max(tensors, key=lambda tensor: tensor.rows)
        raise ModelError(
            f"the tensors have {rows:,} rows in all, the limit is {MOST_ROWS:,}",
            f'most of them are in "{most.name}": {most.rows:,} of {most.row_bytes:,} bytes',
            "a model for microcontrollers has thousands: cut the input into parts",
        )
