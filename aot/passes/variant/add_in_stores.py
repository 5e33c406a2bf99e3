"""An addition is fused into the store of the convolution before it, whose own result is never stored."""

from __future__ import annotations

from dataclasses import replace

from aot.ir.graph import Graph, Node
from aot.ir.types import DType, TensorType
from aot.ops.binary import Add
from aot.ops.conv2d import Conv2d
from aot.ops.conv2d_add import Conv2dAdd
from aot.ops.requant import quant_of
from aot.passes.goals import VariantGoal
from aot.passes.outcome import Miss, Outcome, outcome
from aot.passes.values import needed_elsewhere


def add_in_stores(graph: Graph, goal: VariantGoal) -> Outcome:
    """Fuses additions into convolutions; if both operands are convolutions, into the later one."""
    places = {node.name: place for place, node in enumerate(graph.nodes)}
    left: dict[str, str] = {}
    merged: dict[str, Node] = {}  # an addition, or its convolution -> the fused node
    for node in graph.nodes:
        if not isinstance(node.op, Add):
            continue
        maker = _maker(node, graph, places)
        if isinstance(maker, Miss):
            left[node.name] = maker.because
        elif maker.name in goal.slow_sums:
            left[node.name] = (
                f'adds the result of "{maker.name}" and is left alone, because {goal.slow_sums[maker.name]}'
            )
        else:
            merged[node.name] = merged[maker.name] = _both(maker, node, graph)
    if not merged:
        return outcome(graph, graph, left, "nothing is added")
    nodes = [merged.get(n.name, n) for n in graph.nodes if n.name not in merged or isinstance(n.op, Add)]
    return outcome(graph, graph.with_nodes(nodes), left, "")


def _maker(node: Node, graph: Graph, places: dict[str, int]) -> Node | Miss:
    """Returns the convolution that can add in its store: the later one of two."""
    (out,) = graph.output_types(node)
    constant = next((value for value in node.reads if value in graph.constants), None)
    if constant is not None:
        return Miss(f'adds the constant "{constant}"')
    if not all(_is_image(graph.types[v], out) for v in (*node.reads, *node.outputs)):
        return Miss("does not add two quantized i8 images of the same shape")
    first, second = node.reads
    if first == second:
        return Miss(f'adds "{first}" to itself')
    found = [graph.producers[v] for v in node.reads if v in graph.producers]
    makers = [maker for maker in found if isinstance(maker.op, Conv2d) and _reads_bytes(maker, graph)]
    if not makers:
        return Miss("adds no result of an i8 convolution")
    misses = [needed_elsewhere(graph, maker.outputs[0]) for maker in makers]
    able = [maker for maker, miss in zip(makers, misses, strict=True) if miss is None]
    if able:
        return max(able, key=lambda maker: places[maker.name])
    return next(miss for miss in misses if miss is not None)


def _is_image(tensor: TensorType, out: TensorType) -> bool:
    is_quantised = tensor.dtype is DType.I8 and tensor.quant is not None
    return is_quantised and tensor.rank == 4 and tensor.shape[0] == 1 and tensor.shape == out.shape


def _reads_bytes(conv: Node, graph: Graph) -> bool:
    return graph.types[conv.reads[0]].dtype is DType.I8


def _both(conv: Node, add: Node, graph: Graph) -> Node:
    assert isinstance(conv.op, Conv2d)
    assert isinstance(add.op, Add)
    (made,) = conv.outputs
    (added,) = (value for value in add.reads if value != made)
    x, w, *bias = conv.inputs
    op = Conv2dAdd(conv.op, quant_of(graph.types[made]), add.op)
    return replace(conv, op=op, inputs=(x, w, *(bias or (None,)), added), outputs=add.outputs)
