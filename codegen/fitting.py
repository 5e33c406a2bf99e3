"""From a graph to a plan that fits the budget, as fast as the budget allows.

Rows of 16 bits make dot products faster and cost twice the memory; margins make some kernels faster and rows
longer. Without a budget `speed` gives both to all layers. Where bytes are what is short, the least plan is
found without them; then layers get them, heaviest first, as far as the arena stays within what it may take:
what lives away from the peak costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from aot.errors import FitError
from aot.ir.graph import Graph
from aot.plan.model import Pool
from aot.target import Optimize, Target
from codegen.arenas import ANYWHERE, chosen_pools, pools_for
from codegen.fits import Choice, Fit, Fitted, limit_in, work_of
from codegen.kernels.knobs import NOT_TUNED, Point
from codegen.model import CompileOptions
from codegen.wishes import affordable_wishes, wishes_granted

TRIED_ROWS = 10_000  # in all plans tried to grant wishes, each of which takes its time
SEARCHED_ROWS = 2_400  # a plan of more has its order for all choices that differ by margins
_SHOWN = 3  # buffers at the peak that an error names


@dataclass
class Known:
    """From plans made before: nobody looks for one that needs as much, or plans the same rows twice."""

    bytes: int | None = None  # of the least arena
    planned: list[object] = field(default_factory=list)

    def less(self, choice: Choice, alike: Fit | None = None) -> Fit | None:
        """The least for this choice, where it needs less than all before. Raises FitError of the first.

        For a choice much like one with a plan of very many rows no other order is searched.
        """
        memory = choice.memory
        if memory in self.planned:
            return None
        self.planned.append(memory)
        if self.bytes is None:
            fit: Fit | None = choice.least()
        elif alike is not None and len(alike.plan.order) > SEARCHED_ROWS:
            fit = choice.like(alike, self.bytes - 1, choice.options.exact)
        else:
            fit = choice.below(self.bytes)
        if fit is not None:
            self.bytes = fit.plan.arena_bytes
        return fit


def fit_graph(
    graph: Graph, target: Target, options: CompileOptions, tuned: Mapping[str, Point] = NOT_TUNED
) -> Fitted:
    """The fastest plan of those tried that keeps to options.ram_bytes. Raises FitError."""
    fit = find_fit(graph, target, options, tuned, Known())
    assert fit is not None, "what is looked for first is found"
    return fit.checked()


def find_fit(
    graph: Graph, target: Target, options: CompileOptions, tuned: Mapping[str, Point], known: Known
) -> Fit | None:
    """None where it does not need less than is known. Raises FitError.

    The arena is one piece where the fastest memory has room for it, else it is spread over the target's.
    """
    wished = chosen_pools(target, options.pools)
    choice = Choice(graph, target, options, tuned, wished or (ANYWHERE,))
    fit = _find(choice, known)
    pools = () if wished or fit is None else pools_for(target, fit.plan.arena_bytes)
    return _in_pools(choice, pools) or fit


def limit_of(target: Target, options: CompileOptions) -> int | None:
    """What the user allows the arena to take."""
    return limit_in(chosen_pools(target, options.pools) or (ANYWHERE,), options)


def _in_pools(choice: Choice, pools: tuple[Pool, ...]) -> Fit | None:
    """Where there are any, and they have room: that there is none anywhere is said of the whole."""
    try:
        return _find(replace(choice, pools=pools), Known()) if pools else None
    except FitError:
        return None


def _find(choice: Choice, known: Known) -> Fit | None:
    limit = limit_in(choice.pools, choice.options)
    if choice.options.optimize is Optimize.RAM:
        least = _least(choice, known)
        if least is not None and limit is not None and least.plan.arena_bytes > limit:
            raise _too_large(least, limit)
        return least and _faster(least, least.plan.arena_bytes)
    lavish = replace(choice, wide=frozenset(work_of(choice.graph)))
    if limit is None:
        return known.less(lavish)
    return _within(lavish, limit) or _faster(_least_within(choice, limit), limit)


def _least(choice: Choice, known: Known) -> Fit | None:
    """With margins or without."""
    with_margins = known.less(choice)
    return known.less(_bare(choice), with_margins) or with_margins


def _within(choice: Choice, limit: int) -> Fit | None:
    try:
        fit = choice.least()
    except FitError:
        return None
    return fit if fit.plan.arena_bytes <= limit else None


def _least_within(choice: Choice, limit: int) -> Fit:
    """Without margins, or with them if need be. Raises FitError."""
    fit = _within(_bare(choice), limit) or _within(choice, limit)
    if fit is None:
        raise _too_large(_bare(choice).least(), limit)
    return fit


def _bare(choice: Choice) -> Choice:
    return replace(choice, bare=frozenset(node.name for node in choice.graph.nodes))


def _faster(fit: Fit, limit: int) -> Fit:
    """With as many of the wishes as the arena has room for: all at once, else one, two, four more."""
    best, left = fit, affordable_wishes(fit, limit)
    count = len(left)
    for _ in range(TRIED_ROWS // len(fit.plan.order) if left else 0):
        found = wishes_granted(best.choice, left[:count]).like(best, limit)
        if found is not None:
            best, left, count = found, left[count:], 2 * count
        elif count == 1:
            left = left[1:]
        else:
            count = 1
        if not left:
            break
    is_exact = fit.choice.options.exact and best is not fit
    return best.choice.like(best, limit, exact=True) or best if is_exact else best


def _too_large(least: Fit, budget: int) -> FitError:
    plan, lowered, graph = least.plan, least.choice.lowered, least.choice.graph
    stage = lowered.stages[plan.order[plan.peak_firing]]
    origin = stage.node.origin if stage.node is not None else ""
    live = ", ".join(f"{name} {plan.buffers[name].bytes:,}" for name in plan.peak_buffers[:_SHOWN])
    inputs = sum(graph.types[value].bytes for value in graph.inputs)
    return FitError(
        f"the arena needs {plan.arena_bytes:,} bytes at least, {plan.arena_bytes - budget:,} more than "
        f"--ram {budget} allows",
        f"most is live at {stage.op} {origin}".rstrip() + f": {live} bytes",
        f"inputs take {inputs:,} of it; deploy inspect MODEL --memory shows the rest",
    )
