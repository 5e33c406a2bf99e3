"""Claims: the nodes that an owner wants, by patterns or one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from aot.errors import ModelError
from aot.ir.graph import Graph, Node
from aot.patterns.pattern import Match, Pattern, match

NOBODY = ""  # the owner of what stays


@dataclass(frozen=True, slots=True)
class Claim:
    """Nodes that their owner wants as one region."""

    owner: str
    nodes: tuple[str, ...]


def claims_by_patterns(owner: str, patterns: Sequence[Pattern], graph: Graph) -> tuple[Claim, ...]:
    """The nodes of the matches; of those that overlap, that of the earlier pattern, or of the later value."""
    claimed: set[str] = set()
    claims = []
    for pattern in patterns:
        for found in _matches_from_the_end(pattern, graph):
            names = tuple(node.name for node in found.nodes)
            if names and claimed.isdisjoint(names):
                claimed.update(names)
                claims.append(Claim(owner, names))
    return tuple(claims)


def claims_by_predicate(owner: str, takes: Callable[[Graph, Node], bool], graph: Graph) -> tuple[Claim, ...]:
    """A claim for each node that the owner takes."""
    return tuple(Claim(owner, (node.name,)) for node in graph.nodes if takes(graph, node))


def require_sound(graph: Graph, claims: Sequence[Claim]) -> None:
    """Raises ModelError for a claim of nothing or of what does not exist, and for a node claimed twice."""
    known = {node.name for node in graph.nodes}
    seen: set[tuple[str, str]] = set()
    for claim in claims:
        if not claim.nodes:
            raise ModelError(f"{claim.owner or 'nobody'} claims a region without nodes")
        if claim.owner == NOBODY:
            raise ModelError(f'nobody claims "{claim.nodes[0]}": a claim has an owner')
        for name in claim.nodes:
            if name not in known:
                raise ModelError(f'{claim.owner} claims "{name}", which is no node of {graph.name}')
            if (claim.owner, name) in seen:
                raise ModelError(f'{claim.owner} claims "{name}" twice')
            seen.add((claim.owner, name))


def _matches_from_the_end(pattern: Pattern, graph: Graph) -> Iterator[Match]:
    """From the end, so that what a pattern may have on top is not left out."""
    for node in reversed(graph.nodes):
        found = (match(pattern, graph, value) for value in node.outputs)
        yield from (each for each in found if each is not None)
