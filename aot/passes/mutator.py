"""Builds the new graph of a pass: node by node, or at each match of a pattern."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType, Quant, TensorType
from aot.ir.visitor import method_for
from aot.passes.outcome import Miss, Outcome, Reasons, outcome
from aot.passes.values import fresh_name, rename_reads
from aot.patterns.pattern import Match, Pattern, match


def without_dead_code(graph: Graph) -> Graph:
    """Returns the same graph object if every node is needed. Unused inputs stay."""
    needed = set(graph.kept)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if needed & set(node.outputs):
            kept.append(node)
            needed.update(node.reads)
    return graph if len(kept) == len(graph.nodes) else graph.with_nodes(reversed(kept))


@dataclass(frozen=True, slots=True)
class Same:
    """Removes a node: readers of its only result read `value` instead."""

    value: str


# Replaces a node: by one or several nodes, the last of which computes its results, or by nothing; or a Miss
# with the reason why it stays.
Change = Node | Sequence[Node] | Same | Miss


class Mutator:
    """Base of mutators. Define `visit_conv2d(self, node)` for each op to change; others call `visit_node`.

    A method returns the node itself, which then stays without a reason, or a `Change`. `self.graph` is the
    graph before the pass; the node's inputs are already replaced. Nodes that are no longer read are removed
    at the end. Device regions stay unchanged.
    """

    nothing = "there is no node of its kind"  # why the graph stays if no node was visited

    graph: Graph

    def mutate(self, graph: Graph) -> Outcome:
        """Visits the nodes in order and returns the pass's result."""
        self.graph, self._types, self._constants = graph, dict[str, TensorType](), dict[str, Array]()
        renamed, left, nodes = dict[str, str](), dict[str, str](), list[Node]()
        for before in graph.nodes:
            (node,) = rename_reads([before], renamed) if renamed else (before,)
            change: Change = method_for(node, self)(node)
            if isinstance(change, Same) and node.outputs[0] in graph.kept:
                change = Miss(f'computes "{node.outputs[0]}", which is used outside of the graph')
            if isinstance(change, Miss):
                left[node.name], change = change.because, node
            if isinstance(change, Same):
                renamed[node.outputs[0]] = change.value
            else:
                nodes += [change] if isinstance(change, Node) else change
        changed = graph
        if nodes != list(graph.nodes):
            changed = without_dead_code(graph.with_nodes(nodes, self._types, self._constants))
        return outcome(graph, changed, left, self.nothing)

    def visit_node(self, node: Node) -> Change:
        """Visits a node whose op has no method; it stays."""
        return node

    def constant(self, preferred: str, array: Array, quant: Quant | None = None) -> str:
        """Adds a constant to the new graph and returns its name, which begins with `preferred`."""
        name = fresh_name(preferred, self.graph.types, self._types)
        self._types[name] = TensorType(DType(_NAMES[array.dtype.name]), array.shape, quant)
        self._constants[name] = array
        return name

    def value(self, preferred: str, kind: TensorType) -> str:
        """Adds a value between new nodes to the new graph and returns its name."""
        name = fresh_name(preferred, self.graph.types, self._types)
        self._types[name] = kind
        return name


_NAMES = {each.numpy.name: each.value for each in DType}


def rewrite_nodes(
    graph: Graph, rewriting: Callable[[Node, Graph], Graph | Miss | None], no_candidate: str
) -> Outcome:
    """Returns the result of a pass that visits nodes in order and builds a graph for each that it changes.

    `rewriting` returns the graph, the reason why the node stays, or None for nodes of other kinds. Nodes
    that are no longer read are removed at the end.
    """
    before, left = graph, dict[str, str]()
    for each in before.nodes:
        node = graph.producers.get(each.outputs[0])  # as earlier changes left it
        changed = None if node is None else rewriting(node, graph)
        if isinstance(changed, Graph):
            graph = changed
        elif changed is not None and node is not None and node.name == each.name:
            left[each.name] = changed.because
    made = graph if graph is before else without_dead_code(graph)
    return outcome(before, made, left, no_candidate)


Rewriting = Callable[[Graph, Match], Graph | Miss]


def rewrite(graph: Graph, pattern: Pattern, rewriting: Rewriting) -> tuple[Graph, Reasons]:
    """Returns the graph after all rewritings, and why matches were left alone, by the node of their value.

    `rewriting` returns a graph that computes the value of a match differently, or the reason why not. Values
    are visited in graph order, each until the pattern no longer matches. Nodes of a match that are no longer
    read are removed.
    """
    left: dict[str, str] = {}
    for value in [each for node in graph.nodes for each in node.outputs]:
        for _ in range(len(graph.nodes)):  # a rewriting may create another match, but not forever
            found = match(pattern, graph, value) if value in graph.producers else None
            if found is None:
                break
            answer = rewriting(graph, found)
            if isinstance(answer, Miss):
                left[graph.producers[value].name] = answer.because
                break
            graph = _without_unread(answer, found)
    return graph, left


def _without_unread(graph: Graph, found: Match) -> Graph:
    for node in reversed(found.nodes):
        if not any(value in graph.kept or graph.readers.get(value) for value in node.outputs):
            graph = graph.with_nodes(other for other in graph.nodes if other.name != node.name)
    return graph
