"""All decisions about the layers of a graph, by layer name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aot.ir.graph import Graph
from aot.target import Optimize
from codegen.kernels.knobs import NOT_TUNED, Point

NO_LAYER: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Decisions:
    """One choice of kernels, row formats and places. Each set names layers."""

    widened: frozenset[str] = NO_LAYER  # may read rows wider than the values in them
    unpadded: frozenset[str] = NO_LAYER  # have rows without padding if their kernels can do without
    compact: frozenset[str] = NO_LAYER  # store their weights in their own width
    frugal: frozenset[str] = NO_LAYER  # save RAM rather than time: no values in scratch
    spread: frozenset[str] = NO_LAYER  # scatter each input row to its places on arrival
    copies_views: bool = False  # outputs that are views are copied instead of written in place
    is_roomy: bool = False  # trades bytes for little time: padding stays written, devices start early
    tuned: Mapping[str, Point] = field(default_factory=lambda: NOT_TUNED)  # task -> its point

    def goal_of(self, layer: str, goal: Optimize) -> Optimize:
        """Returns the goal of one layer, given the goal of the whole model."""
        if goal is Optimize.SIZE:
            return goal
        return Optimize.RAM if layer in self.frugal else Optimize.SPEED


def all_layers(graph: Graph) -> frozenset[str]:
    return frozenset(node.name for node in graph.nodes)


def decisions_for(graph: Graph, goal: Optimize, tuned: Mapping[str, Point] = NOT_TUNED) -> Decisions:
    """The decisions that follow from the goal alone, before any search."""
    every = all_layers(graph)
    if goal is Optimize.RAM:
        return Decisions(frugal=every, tuned=tuned)
    return Decisions(widened=every, is_roomy=True, tuned=tuned)
