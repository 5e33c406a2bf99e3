"""An addition is fused into the store of the convolution before it, whose own result is never stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from aot.ir.graph import Graph, Node
from aot.ir.types import DType, TensorType
from aot.ops.binary import Add
from aot.ops.conv2d import Conv2d
from aot.ops.conv2d_add import Conv2dAdd
from aot.ops.requant import quant_of
from aot.passes.goals import VariantGoal
from aot.passes.outcome import Miss, Outcome
from aot.passes.rewrite import rewrite
from aot.passes.values import needed_elsewhere
from aot.patterns.pattern import Match, is_op


def add_in_stores(graph: Graph, goal: VariantGoal) -> Outcome:
    """Fuses additions into convolutions; if both operands are convolutions, into the later one."""
    return rewrite(graph, is_op("add"), partial(_in_store, goal.slow_sums), "nothing is added")


def _in_store(slow_sums: Mapping[str, str], graph: Graph, found: Match) -> Graph | Miss:
    node = graph.producers[found.value]
    maker = _maker(node, graph)
    if isinstance(maker, Miss):
        return maker
    if maker.name in slow_sums:
        return Miss(f'adds the result of "{maker.name}" and is left alone, because {slow_sums[maker.name]}')
    return graph.with_changed({maker.name: None, node.name: _both(maker, node, graph)})


def _maker(node: Node, graph: Graph) -> Node | Miss:
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
        return max(able, key=graph.nodes.index)
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
