"""From a graph to a plan that fits the budget, with as many wide rows as the budget allows.

Rows of 16 bits make dot products faster and cost twice the memory. Without a budget the goal decides
for all layers at once. With one, the layers with most multiplications get them first.

Margins make kernels simple and rows longer. Where bytes are what is short, layers do without them if that
makes the arena smaller; those that are slower without keep them where the peak is elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from aot.errors import FitError, ModelError
from aot.ir.graph import Graph
from aot.plan.check import check_plan
from aot.plan.groups import Grouped, group_firings, one_by_one
from aot.plan.model import Plan, PlanRequest, PlanTensor, Pool
from aot.plan.planner import find_plan_within, make_plan
from aot.target import Optimize, Target
from codegen.arenas import ANYWHERE, chosen_pools, pools_for
from codegen.callers_io import without_io
from codegen.kernels.knobs import NOT_TUNED, Point
from codegen.lower import lower_graph
from codegen.model import CompileOptions, RowFormat
from codegen.stage_rows import plan_stages, plan_tensors
from codegen.stages import Lowered

MOST_ROWS = 1_000_000  # planned in a second and a quarter of a gigabyte
_HALVINGS = 3  # plans tried between the least and the fastest: each takes its time
_MORE_ROOM = "a larger --pool, one more of them, or --optimize ram"
_SHOWN = 3  # buffers at the peak that an error names


@dataclass(frozen=True)
class Fitted:
    """Stages and the plan of their memory."""

    lowered: Lowered
    request: PlanRequest
    plan: Plan


def fit_graph(
    graph: Graph, target: Target, options: CompileOptions, tuned: Mapping[str, Point] = NOT_TUNED
) -> Fitted:
    """The fastest plan of those tried that keeps to options.ram_bytes. Raises FitError.

    The arena is one piece where the fastest memory has room for it, else it is spread over the target's.
    """
    wished = chosen_pools(target, options.pools)
    lowering = _Lowering(graph, target, options, tuned, wished or (ANYWHERE,))
    fitted = _fit(lowering)
    pools = () if wished else pools_for(target, fitted.plan.arena_bytes)
    if not pools:
        return fitted
    try:
        return _fit(replace(lowering, pools=pools))
    except FitError:
        return fitted  # that it has no room anywhere is said of the whole


def limit_of(target: Target, options: CompileOptions) -> int | None:
    """What the user allows the arena to take."""
    return _limit(options, chosen_pools(target, options.pools) or (ANYWHERE,))


def _limit(options: CompileOptions, pools: Sequence[Pool]) -> int | None:
    """What the arena may take: what the options say, or all pools together."""
    sizes = [pool.bytes for pool in pools if pool.bytes is not None]
    given = [options.ram_bytes] if options.ram_bytes is not None else []
    offered = [sum(sizes)] if len(sizes) == len(pools) else []
    return min((*given, *offered), default=None)


def _fit(lowering: _Lowering) -> Fitted:
    """With margins or without, whichever needs less where memory is the goal or margins do not fit."""
    bare = replace(lowering, bare=frozenset(node.name for node in lowering.graph.nodes))
    try:
        found = _fit_wide(lowering)
    except FitError:
        return _fit_wide(bare)
    is_enough = lowering.options.optimize is not Optimize.RAM or lowering.limit is not None
    return found if is_enough else _with_fewest_margins(found, bare)


def _with_fewest_margins(found: Fitted, bare: _Lowering) -> Fitted:
    """The less of both; what is slower without margins keeps them if it is not at the peak, at no cost."""
    if _formats(bare.lowered(())) == _formats(found.lowered):
        return found
    least = bare.wished(())
    if least is None or least.plan.arena_bytes >= found.plan.arena_bytes:
        return found
    slower = [stage for stage in least.lowered.stages if stage.kernel.slowed_by_edges]
    elsewhere = {s.node.name for s in slower if s.node and s.reads[0].tensor not in least.plan.peak_buffers}
    mixed = replace(bare, bare=bare.bare - elsewhere).wished(()) if elsewhere else None
    return mixed if mixed is not None and mixed.plan.arena_bytes <= least.plan.arena_bytes else least


def _fit_wide(lowering: _Lowering) -> Fitted:
    graph, options = lowering.graph, lowering.options
    by_weight = _heaviest_first(graph) if options.optimize is not Optimize.RAM else ()
    limit = lowering.limit
    wished = lowering.wished(by_weight)
    if wished is not None and (limit is None or wished.plan.arena_bytes <= limit):
        return wished
    best = None if limit is None else lowering.within(limit, ())
    if best is None or limit is None:
        least = lowering.least(())
        if limit is not None and least.plan.arena_bytes > limit:
            raise _too_large(graph, least, limit)
        return least
    return _widest(lowering, limit, by_weight, best)


def _widest(lowering: _Lowering, limit: int, by_weight: Sequence[str], best: Fitted) -> Fitted:
    """By halving: the most layers, heaviest first, that can have wide rows."""
    fits, fails = 0, len(by_weight)
    for _ in range(_HALVINGS):
        if fails - fits <= 1:
            break
        middle = (fits + fails) // 2
        tried = lowering.within(limit, by_weight[:middle])
        if tried is not None:
            best, fits = tried, middle
        else:
            fails = middle
    return best


@dataclass(frozen=True)
class _Lowering:
    """A graph on its way to memory; what differs is which layers have wide rows, and which margins."""

    graph: Graph
    target: Target
    options: CompileOptions
    tuned: Mapping[str, Point]
    pools: tuple[Pool, ...]
    bare: frozenset[str] = frozenset()  # layers that do without margins

    @property
    def limit(self) -> int | None:
        return _limit(self.options, self.pools)

    def wished(self, wide: Sequence[str]) -> Fitted | None:
        """The least, where the pools have room for it."""
        try:
            return self.least(wide)
        except FitError:
            return None

    def least(self, wide: Sequence[str]) -> Fitted:
        """In as little memory as the planner finds."""
        lowered, request = self._request(wide)
        grouped = group_firings(request)
        try:
            plan = make_plan(grouped.request, self.options.exact)
        except FitError as error:
            raise FitError(error.what, error.where, _MORE_ROOM) from None
        return _checked(lowered, request, grouped, plan)

    def within(self, limit: int, wide: Sequence[str]) -> Fitted | None:
        """In at most so much memory."""
        lowered, request = self._request(wide)
        grouped = group_firings(request)
        plan = find_plan_within(grouped.request, limit)
        return None if plan is None else _checked(lowered, request, grouped, plan)

    def lowered(self, wide: Sequence[str]) -> Lowered:
        return lower_graph(self.graph, self.target, self.options, frozenset(wide), self.tuned, self.bare)

    def _request(self, wide: Sequence[str]) -> tuple[Lowered, PlanRequest]:
        options, lowered = self.options, self.lowered(wide)
        # Margins that are written once are worth some bytes, unless bytes are what is short.
        steady = options.optimize is not Optimize.RAM and options.ram_bytes is None
        tensors = plan_tensors(lowered, steady)
        _require_plannable(tensors)
        stages = plan_stages(lowered, _work(self.graph))
        if options.io_apart:
            tensors, stages = without_io(tensors, stages)
        return lowered, PlanRequest(tensors, stages, self.pools, options.rows)


def _formats(lowered: Lowered) -> Mapping[str, RowFormat]:
    return {tensor.name: tensor.format for tensor in lowered.tensors.values()}


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


def _checked(lowered: Lowered, request: PlanRequest, grouped: Grouped, plan: Plan) -> Fitted:
    check_plan(grouped.request, plan)
    used = tuple(pool for pool in request.pools if plan.pool_bytes[pool.name]) or request.pools[:1]
    sizes = {pool.name: plan.pool_bytes[pool.name] for pool in used}
    plan = one_by_one(replace(plan, pool_bytes=sizes), grouped)
    return Fitted(lowered, replace(request, pools=used), plan)


def _work(graph: Graph) -> Mapping[str, int]:
    """Node -> its multiplications."""
    return {n.name: n.op.cost(graph.input_types(n), graph.output_types(n)).macs for n in graph.nodes}


def _heaviest_first(graph: Graph) -> tuple[str, ...]:
    macs = _work(graph)
    return tuple(sorted((name for name in macs if macs[name]), key=lambda name: (-macs[name], name)))


def _too_large(graph: Graph, least: Fitted, budget: int) -> FitError:
    plan = least.plan
    stage = least.lowered.stages[plan.order[plan.peak_firing]]
    origin = stage.node.origin if stage.node is not None else ""
    live = ", ".join(f"{name} {plan.buffers[name].bytes:,}" for name in plan.peak_buffers[:_SHOWN])
    inputs = sum(graph.types[value].bytes for value in graph.inputs)
    return FitError(
        f"the arena needs {plan.arena_bytes:,} bytes at least, {plan.arena_bytes - budget:,} more than "
        f"--ram {budget} allows",
        f"most is live at {stage.op} {origin}".rstrip() + f": {live} bytes",
        f"inputs take {inputs:,} of it; deploy inspect MODEL --memory shows the rest",
    )
