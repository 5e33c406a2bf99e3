"""From a graph to a plan that fits the budget, with as many wide rows as the budget allows.

Rows of 16 bits make dot products faster and cost twice the memory. Without a budget the goal decides
for all layers at once. With one, the layers with most multiplications get them first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aot.errors import FitError
from aot.ir.graph import Graph
from aot.plan.check import check_plan
from aot.plan.model import Plan, PlanRequest, Pool
from aot.plan.planner import make_plan
from aot.target import Optimize, Target
from codegen.kernels.knobs import NOT_TUNED, Point
from codegen.lower import Lowered, lower_graph, plan_stages, plan_tensors
from codegen.model import CompileOptions

_HALVINGS = 3  # plans tried between the least and the fastest: each takes its time
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
    """The fastest plan of those tried that keeps to options.ram_bytes. Raises FitError."""
    by_weight = _heaviest_first(graph)
    wide = len(by_weight) if options.optimize is not Optimize.RAM else 0
    wished = _fit(graph, target, options, tuned, by_weight[:wide])
    if _fits(wished, options):
        return wished
    least = _fit(graph, target, options, tuned, ())
    if not _fits(least, options):
        raise _too_large(graph, least, options)
    return _widest(graph, target, options, tuned, by_weight[:wide], least)


def _widest(
    graph: Graph,
    target: Target,
    options: CompileOptions,
    tuned: Mapping[str, Point],
    by_weight: Sequence[str],
    least: Fitted,
) -> Fitted:
    """By halving: the most layers, heaviest first, that can have wide rows."""
    best, fits, fails = least, 0, len(by_weight)
    for _ in range(_HALVINGS):
        if fails - fits <= 1:
            break
        middle = (fits + fails) // 2
        tried = _fit(graph, target, options, tuned, by_weight[:middle])
        if _fits(tried, options):
            best, fits = tried, middle
        else:
            fails = middle
    return best


def _fit(
    graph: Graph, target: Target, options: CompileOptions, tuned: Mapping[str, Point], wide: Sequence[str]
) -> Fitted:
    lowered = lower_graph(graph, target, options, frozenset(wide), tuned)
    # Margins that are written once are worth some bytes, unless bytes are what is short.
    steady = options.optimize is not Optimize.RAM and options.ram_bytes is None
    request = PlanRequest(plan_tensors(lowered, steady), plan_stages(lowered), (Pool("arena"),), options.rows)
    plan = make_plan(request)
    check_plan(request, plan)
    return Fitted(lowered, request, plan)


def _fits(fitted: Fitted, options: CompileOptions) -> bool:
    return options.ram_bytes is None or fitted.plan.arena_bytes <= options.ram_bytes


def _heaviest_first(graph: Graph) -> tuple[str, ...]:
    macs = {n.name: n.op.cost(graph.input_types(n), graph.output_types(n)).macs for n in graph.nodes}
    return tuple(sorted((name for name in macs if macs[name]), key=lambda name: (-macs[name], name)))


def _too_large(graph: Graph, least: Fitted, options: CompileOptions) -> FitError:
    plan, budget = least.plan, options.ram_bytes or 0
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
