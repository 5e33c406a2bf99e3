"""A visitor goes over a graph node by node, and calls for each the method that is named after its op."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from aot.ir.graph import Graph, Node
from aot.ir.region import DeviceRegion

Visiting = TypeVar("Visiting", bound="Visitor")


class Visitor:
    """Subclasses have `visit_conv2d(self, node)` for each op that they look at, `visit_node` for all others.

    An op's name is the one in the graph's text; what is not a letter or digit in it is _, as in
    `visit_conv2d_add`. The graph that is gone over is `self.graph`.
    """

    graph: Graph

    def visit(self: Visiting, graph: Graph) -> Visiting:
        """Goes over the nodes in their order, over those inside a region before the region; gives itself."""
        self.graph = graph
        for node in graph.nodes:
            if isinstance(node.op, DeviceRegion):
                self.visit(node.op.graph)
                self.graph = graph
            method_for(node, self)(node)
        return self

    def visit_node(self, node: Node) -> None:
        """Called for a node whose op has no method of its own."""


def method_for(node: Node, visitor: Any) -> Callable[[Node], Any]:
    """The method of a visitor, or of what else has such methods, for the op of a node."""
    word = re.sub(r"\W", "_", node.op.name)
    method: Callable[[Node], Any] = getattr(visitor, f"visit_{word}", visitor.visit_node)
    return method
