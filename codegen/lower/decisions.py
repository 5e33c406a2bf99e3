"""All decisions about the layers of a graph, by layer name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aot.ir.graph import Graph
from aot.ir.types import DType
from aot.target import Optimize
from codegen.kernels.knobs import NOT_TUNED, Point

_PART_OF_WORK = 2_000  # of the multiplications; plain loops need about four times the time
_INTEGERS = frozenset({DType.I8, DType.I16})
NO_LAYER: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Decisions:
    """One choice of kernels, row formats and places. Each set names layers."""

    widened: frozenset[str] = NO_LAYER  # may read rows wider than the values in them
    unpadded: frozenset[str] = NO_LAYER  # have rows without padding if their kernels can do without
    compact: frozenset[str] = NO_LAYER  # store their weights in their own width
    frugal: frozenset[str] = NO_LAYER  # save RAM rather than time: no values in scratch
    brief: frozenset[str] = NO_LAYER  # compute so little that short code counts, not time
    merged: frozenset[str] = NO_LAYER  # share a kernel with layers that differ from them in integers
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
    every, brief = all_layers(graph), brief_layers(graph)
    if goal is Optimize.RAM:
        return Decisions(frugal=every, brief=brief, tuned=tuned)
    return Decisions(widened=every, brief=brief, is_roomy=True, tuned=tuned)


def work_of(graph: Graph) -> Mapping[str, int]:
    """Returns the number of multiplications of each node."""
    return {n.name: n.op.cost(graph.input_types(n), graph.output_types(n)).macs for n in graph.nodes}


def brief_layers(graph: Graph) -> frozenset[str]:
    """Returns the smallest integer layers that multiply, all together a tiny part of the model.

    The last layer of a classifier is one of them: special instructions would save a thousandth of the time.
    """
    work = work_of(graph)
    integer = {n.name for n in graph.nodes if all(graph.types[v].dtype in _INTEGERS for v in n.outputs)}
    left = sum(work.values()) // _PART_OF_WORK
    found = set[str]()
    for macs, name in sorted((macs, name) for name, macs in work.items() if macs and name in integer):
        left -= macs
        if left < 0:
            break
        found.add(name)
    return frozenset(found)
