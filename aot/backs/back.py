"""The interface of back ends, which add nodes to the models that they support."""

from __future__ import annotations

from typing import Protocol

from aot.frontend.added_nodes import AddedNodes
from aot.ir.graph import Graph


class Back(Protocol):
    """The parameters of one back end."""

    def check(self) -> None:
        """Raises DeclarationError for parameters that make no sense."""

    def refusal(self, graph: Graph) -> str | None:
        """Returns why this model cannot have the back end; None if it can."""

    def add(self, nodes: AddedNodes, graph: Graph) -> tuple[str, ...]:
        """Adds nodes after the model's first output; returns the names of the new outputs."""
