"""Visits the nodes of a graph and calls the method named after each node's op."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from aot.ir.graph import Graph, Node
from aot.ir.region import Subgraph

Visiting = TypeVar("Visiting", bound="Visitor")


class Visitor:
    """Base of visitors. Define `visit_conv2d(self, node)` for each op to handle; others call `visit_node`.

    An op's name is the one in the graph's text, with _ for anything but letters and digits, as in
    `visit_conv2d_add`. The graph being visited is `self.graph`.
    """

    graph: Graph

    def visit(self: Visiting, graph: Graph) -> Visiting:
        """Visits all nodes in order, those of an op's graph before the op itself. Returns the visitor."""
        self.graph = graph
        for node in graph.nodes:
            if isinstance(node.op, Subgraph):
                self.visit(node.op.graph)
                self.graph = graph
            _method_for(node, self)(node)
        return self

    def visit_node(self, node: Node) -> None:
        """Called for a node whose op has no method."""


def _method_for(node: Node, visitor: Visitor) -> Callable[[Node], None]:
    """Returns the visitor's method for the op of a node."""
    word = re.sub(r"\W", "_", node.op.name)
    method: Callable[[Node], None] = getattr(visitor, f"visit_{word}", visitor.visit_node)
    return method
