"""The rules that every graph obeys, as sentences; checked before the first pass and after each one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

import numpy as np

from aot.ir.graph import Graph
from aot.ir.region import subgraphs_of
from aot.ir.types import Quant, TensorType
from aot.ops.constraints import violations

Rule = Callable[[Graph], Iterator[str]]


class GraphRuleError(AssertionError):
    """A graph violates a rule: a bug in a pass or an importer, because importers reject such models."""

    def __init__(self, rule: str, fact: str) -> None:
        super().__init__(f'the graph breaks the rule "{rule}": {fact}')
        self.rule = rule
        self.fact = fact


def verify(graph: Graph) -> None:
    """Raises GraphRuleError for the first rule that is violated; later rules rely on earlier ones."""
    for rule, facts in RULES.items():
        for fact in facts(graph):
            raise GraphRuleError(rule, fact)


def _names_have_types(graph: Graph) -> Iterator[str]:
    mentioned = chain(
        graph.given, graph.kept, graph.constants, *((*n.reads, *n.outputs) for n in graph.nodes)
    )
    return (f'"{name}" has no type' for name in mentioned if name not in graph.types)


def _one_producer(graph: Graph) -> Iterator[str]:
    made: set[str] = set()
    for name in chain(graph.given, graph.constants, *(n.outputs for n in graph.nodes)):
        if name in made:
            yield f'"{name}" has two producers'
        made.add(name)


def _read_after_made(graph: Graph) -> Iterator[str]:
    made = {*graph.given, *graph.constants}
    for node in graph.nodes:
        yield from (f'"{node.name}" reads "{name}"' for name in node.reads if name not in made)
        made.update(node.outputs)
    yield from (f'output "{name}" has no producer' for name in graph.outputs if name not in made)
    yield from (
        f'"{s.next}", the next value of "{s.name}", is not computed'
        for s in graph.states
        if s.next not in made
    )


def _nothing_unmentioned(graph: Graph) -> Iterator[str]:
    used = {*graph.given, *graph.kept, *chain(*((*n.reads, *n.outputs) for n in graph.nodes))}
    return (f'nothing uses "{name}"' for name in graph.types if name not in used)


def _node_names(graph: Graph) -> Iterator[str]:
    seen: set[str] = set()
    for node in graph.nodes:
        if node.name in seen or not node.name:
            yield f'"{node.name}" ({node.op.name})'
        seen.add(node.name)


def _shapes_positive(graph: Graph) -> Iterator[str]:
    for name, tensor in graph.types.items():
        if any(dimension < 1 for dimension in tensor.shape):
            yield f'"{name}" has shape {tensor.shape}'


def _quantisation(graph: Graph) -> Iterator[str]:
    for name, tensor in graph.types.items():
        fact = None if tensor.quant is None else _quant_fact(tensor, tensor.quant)
        if fact is not None:
            yield f'"{name}" {fact}'


def _quant_fact(tensor: TensorType, quant: Quant) -> str | None:
    if not tensor.dtype.is_integer:
        return f"is {tensor.dtype.value} and has a quantization"
    if len(quant.scales) != len(quant.zero_points):
        return f"has {len(quant.scales)} scales, {len(quant.zero_points)} zero points"
    if quant.axis is None:
        return None if len(quant.scales) == 1 else f"has {len(quant.scales)} scales and no axis"
    if not 0 <= quant.axis < tensor.rank:
        return f"has axis {quant.axis} and {tensor.rank} dimensions"
    if tensor.shape[quant.axis] != len(quant.scales):
        return f"has {len(quant.scales)} scales for {tensor.shape[quant.axis]} indices"
    return None


def _constants(graph: Graph) -> Iterator[str]:
    for name, array in graph.constants.items():
        tensor = graph.types[name]
        if (np.dtype(array.dtype), array.shape) != (tensor.dtype.numpy, tensor.shape):
            yield f'"{name}" is {array.dtype}{array.shape}, declared {tensor.dtype.value}{tensor.shape}'


def _states(graph: Graph) -> Iterator[str]:
    for state in graph.states:
        kept, becomes = (_declared(graph.types[name]) for name in (state.name, state.next))
        begins = f"{state.initial.dtype}{state.initial.shape}"
        if becomes != kept:
            yield f'"{state.name}" is {kept}, its next value is {becomes}'
        if begins != kept:
            yield f'"{state.name}" is {kept}, its initial value is {begins}'
        if state.next in graph.constants:
            yield f'"{state.name}" has as its next value the constant "{state.next}"'


def _declared(tensor: TensorType) -> str:
    return f"{tensor.dtype.numpy}{tensor.shape}"


def _op_constraints(graph: Graph) -> Iterator[str]:
    for node in graph.nodes:
        for fact in violations(node.op, graph.input_types(node), graph.output_types(node)):
            yield f'"{node.name}" ({node.op.name}): {fact}'


def _inferred_types(graph: Graph) -> Iterator[str]:
    for node in graph.nodes:
        inferred = node.op.infer(graph.input_types(node))
        declared = tuple((t.dtype.value, t.shape) for t in graph.output_types(node))
        if inferred != declared:
            yield f'"{node.name}" ({node.op.name}) infers {inferred}, declared {declared}'


def _subgraphs(graph: Graph) -> Iterator[str]:
    for op in subgraphs_of(graph):
        for rule, facts in RULES.items():
            yield from (f'inside "{op.graph.name}": {rule}: {fact}' for fact in facts(op.graph))


RULES: dict[str, Rule] = {
    "every value that is used has a type": _names_have_types,
    "every value has one producer": _one_producer,
    "a value is read after it is computed": _read_after_made,
    "every value with a type is used": _nothing_unmentioned,
    "every node has a unique name": _node_names,
    "every dimension is at least 1": _shapes_positive,
    "quantization fits its tensor": _quantisation,
    "constants have their declared type": _constants,
    "a state, its initial value and its next value have one type": _states,
    "every node satisfies the constraints of its op": _op_constraints,
    "the graphs of regions and loops satisfy all rules": _subgraphs,
    "declared types are those that the ops infer": _inferred_types,
}
