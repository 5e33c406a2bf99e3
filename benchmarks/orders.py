"""How close the planner's orders come to the best there is, on branching graphs where that can be had."""

from __future__ import annotations

import random
from dataclasses import dataclass

from aot.plan.model import PlanRequest
from aot.plan.wholes import BEAM, EXACT_SETS, order_whole_stages
from benchmarks.branching import FAMILIES

GRAPHS = 100  # of each family
MANY_SETS = 300_000  # of stages that have run: what an exact search may look at here
ONLY_BEAM = 0
HEAD = (
    "# Orders\n\n"
    "Peaks of live bytes above the best order's, printed by `python -m benchmarks orders`. The planner\n"
    f"searches whole stages exactly until it has seen {EXACT_SETS:,} sets of them, which is enough for\n"
    f"every graph of 13 stages and most larger ones; then it keeps the {BEAM} best sets of each size.\n"
    f"*Best known* counts the graphs whose best order a search of {MANY_SETS:,} sets finds; *bounded\n"
    "search* is the search without its exact part.\n\n"
    "| graphs | how many | stages | best known | given order | bounded search | planner | planner is best |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
)


@dataclass(frozen=True, slots=True)
class Excess:
    """The peaks of one graph's orders as shares of the best one."""

    stages: int
    given: float
    beam: float  # what the planner does where a graph is too large for its exact search
    planner: float


def excess(request: PlanRequest) -> Excess | None:
    """None where even a long search does not find the best order."""
    best = order_whole_stages(request, MANY_SETS)
    if not best.is_exact:
        return None
    peaks = (
        _given_peak(request),
        order_whole_stages(request, ONLY_BEAM).peak_bytes,
        order_whole_stages(request).peak_bytes,
    )
    return Excess(len(request.stages), *(peak / best.peak_bytes - 1 for peak in peaks))


def _given_peak(request: PlanRequest) -> int:
    """The peak of the stages in the order in which they were made."""
    sizes = {tensor.name: tensor.bytes for tensor in request.tensors}
    last = {name: n for n, stage in enumerate(request.stages) for name in (*stage.reads, *stage.writes)}
    peak, live = 0, {name for name in sizes if all(name not in s.writes for s in request.stages)}
    for number, stage in enumerate(request.stages):
        live |= set(stage.writes)
        peak = max(peak, sum(sizes[name] for name in live))
        live = {name for name in live if last[name] > number}
    return peak


def order_row(family: str, graphs: int = GRAPHS) -> str:
    found = [excess(FAMILIES[family](random.Random(seed))) for seed in range(graphs)]
    known = [each for each in found if each is not None]
    sizes = [each.stages for each in known]
    means = (sum(getattr(each, what) for each in known) / len(known) for what in ("given", "beam", "planner"))
    cells = (
        family,
        str(graphs),
        f"{min(sizes)} to {max(sizes)}",
        f"{len(known)}",
        *(f"{mean:+.2%}" for mean in means),
        f"{sum(each.planner == 0 for each in known)}",
    )
    return f"| {' | '.join(cells)} |\n"
