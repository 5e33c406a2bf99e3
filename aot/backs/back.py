"""A back end refuses models that it cannot stand behind, and adds nodes to the others."""

from __future__ import annotations

from typing import Protocol

from aot.frontend.added_nodes import AddedNodes
from aot.ir.graph import Graph


class Back(Protocol):
    """The parameters of one back end."""

    def check(self) -> None:
        """Raises DeclarationError for numbers that make no sense."""

    def refusal(self, graph: Graph) -> str | None:
        """The reason why it cannot stand behind this model."""

    def add(self, nodes: AddedNodes, graph: Graph) -> tuple[str, ...]:
        """Adds its nodes behind the model's first output; the names of the new outputs."""
