"""Graphs as the passes of PLACEMENT leave them on a Cortex-M4."""

from aot.ir.graph import Graph
from aot.passes.goals import PlacementGoal
from aot.passes.pipeline import placement_passes, run_passes
from codegen.fit.placement_search import MEASURED_COSTS


def placed(graph: Graph, max_slowdown: float = 0.0, is_streamed: bool = False) -> Graph:
    goal = PlacementGoal(MEASURED_COSTS, max_slowdown, is_streamed)
    return run_passes(graph, placement_passes(goal)).graph
