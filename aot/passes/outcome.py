"""The result of a pass: the new graph, or the reason why nothing changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aot.ir.graph import Graph

Reasons = Mapping[str, str]  # name of a node that a pass visited -> why the pass left it unchanged


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A new graph with the same outputs; the pass may have left some nodes of its kind unchanged."""

    graph: Graph
    left_alone: Reasons = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The pass changed nothing: `because` is the reason for the graph, or a line for each node."""

    because: str
    left_alone: Reasons = field(default_factory=dict)  # the reasons in `because`, by node


Outcome = Rewritten | Unchanged


@dataclass(frozen=True, slots=True)
class Miss:
    """A pattern does not match at a node: `because` continues a sentence that begins with the node."""

    because: str


def outcome(before: Graph, after: Graph, left_alone: Reasons, no_candidate: str) -> Outcome:
    """Returns a pass's result; `no_candidate` is the reason if there was no node to visit."""
    if after is not before:
        return Rewritten(after, left_alone)
    return Unchanged("\n".join(reason_lines(left_alone)) or no_candidate, left_alone)


def reason_lines(left_alone: Reasons) -> list[str]:
    return [f'"{node}" {because}' for node, because in left_alone.items()]
