"""Result layouts worth trying for a graph, fastest first.

Spreading: a layer can write each input row to its final places on arrival. Its input need not exist as a
whole, but its output is live from the first row on. That helps if the input is small and the output large;
only planning both ways shows it.

Copied outputs: copying never helps an optimal plan. But plans are found by a search, and in a large graph a
copy may let it find a smaller one. It is tried for the best candidate, unless that is proven smallest.
"""

from __future__ import annotations

from collections.abc import Sequence

from aot.ir.graph import Graph, Node
from aot.ir.types import TensorType
from aot.ops.rearrange import Rearrange, is_vector
from aot.passes.values import behind_views
from aot.plan.groups import MOST_STEPS
from codegen.fit.variant import PlannedVariant
from codegen.kernels.rearrange import can_spread
from codegen.lower.decisions import NO_LAYER
from codegen.options import CompileOptions

_WORTH = 32  # the inverse of the smallest share of the arena that justifies an extra call per row


def spreads_tried(graph: Graph, options: CompileOptions) -> Sequence[frozenset[str]]:
    """Returns the sets of layers to spread, fastest first: the empty set comes first."""
    moves = [node for node in graph.nodes if isinstance(node.op, Rearrange)]
    spread = frozenset(node.name for node in moves if can_spread(node.op, _rows_of(node, graph)))
    found = [NO_LAYER]
    if spread and options.interleaves_rows:
        found.append(spread)
    return found


def shows_views(graph: Graph) -> bool:
    """Returns whether an output is a view, which could also be copied."""
    return any(behind_views(output, graph) != output for output in graph.outputs)


def may_be_smaller(spread: frozenset[str], planned: PlannedVariant) -> bool:
    """Returns whether spreading these layers could shrink the plan that spreads none.

    True if an image that spreading avoids is live at the peak. False for plans with too many steps to plan
    again.
    """
    if sum(len(stage.steps) for stage in planned.variant.request.stages) > MOST_STEPS:
        return False
    images = {
        reading.tensor
        for stage in planned.variant.lowered.stages
        if stage.node is not None and stage.node.name in spread
        for reading in stage.reads
    }
    return not images.isdisjoint(planned.plan.peak_buffers)


def min_gain_bytes(arena_bytes: int) -> int:
    """Returns the largest arena that justifies more calls, given one of `arena_bytes` without spreading."""
    return arena_bytes - arena_bytes // _WORTH


def _rows_of(node: Node, graph: Graph) -> TensorType:
    """Returns the type of the node's input; if that is an image in one vector, the image's."""
    (value,) = node.reads
    image = behind_views(value, graph)
    is_image_in_a_vector = is_vector(graph.types[value]) and image in graph.producers
    return graph.types[image if is_image_in_a_vector else value]
