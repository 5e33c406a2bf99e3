"""The choices of where results go that are tried for a graph.

A layer that puts each row of its input to its places as it comes needs no image as a whole; but its result
is there as a whole, from the first row on. Whether that takes less memory is known when both are planned: it
does where what is read before is small, as the first image of a network whose last one is large.

A copy of an output never takes less memory if both plans are best. But they are found by a search, which in
a large network may end better by chance with the copy: where nothing is proven, it is tried for the best.
"""

from __future__ import annotations

from collections.abc import Sequence

from aot.ir.graph import Graph, Node
from aot.ir.types import TensorType
from aot.ops.rearrange import Rearrange, is_vector
from aot.passes.views import behind_views
from aot.plan.groups import MOST_STEPS
from codegen.fit.variant import PlannedVariant
from codegen.kernels.rearrange import can_spread
from codegen.lower.decisions import NO_LAYER
from codegen.options import CompileOptions

_WORTH = 32  # parts of the arena, of which one at least must be saved: each row is a call more


def spreads_tried(graph: Graph, options: CompileOptions) -> Sequence[frozenset[str]]:
    """The layers that put rows to their places as they come: none first, which is fastest."""
    moves = [node for node in graph.nodes if isinstance(node.op, Rearrange)]
    spread = frozenset(node.name for node in moves if can_spread(node.op, _rows_of(node, graph)))
    found = [NO_LAYER]
    if spread and options.takes_turns:
        found.append(spread)
    return found


def shows_views(graph: Graph) -> bool:
    """True where an output is a view, which could be copied, too."""
    return any(behind_views(output, graph) != output for output in graph.outputs)


def may_be_smaller(spread: frozenset[str], planned: PlannedVariant) -> bool:
    """True where a plan with these layers spread may need less than the one that has none of them.

    That is where an image that need not be there as a whole is there when most memory is needed. Plans of
    very many steps take long, and are made no more often than must be.
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


def worthwhile_bytes(arena_bytes: int) -> int:
    """The largest arena that is worth more calls, beside one of so many bytes."""
    return arena_bytes - arena_bytes // _WORTH


def _rows_of(node: Node, graph: Graph) -> TensorType:
    """The type of what it reads: of the image, where that is an image in one vector."""
    (value,) = node.reads
    image = behind_views(value, graph)
    is_image_in_a_vector = is_vector(graph.types[value]) and image in graph.producers
    return graph.types[image if is_image_in_a_vector else value]
