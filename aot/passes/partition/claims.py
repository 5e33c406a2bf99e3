"""Claims: the nodes that an owner wants, by patterns or one by one, and why it refuses the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from aot.errors import ModelError
from aot.ir.graph import Graph, Node
from aot.passes.outcome import Miss, Reasons
from aot.patterns.pattern import Match, Pattern, match

NOBODY = ""  # the owner of unclaimed nodes
NO_PATTERN = "no pattern matches"  # why a node stays that no rule covers


@dataclass(frozen=True, slots=True)
class Claims:
    """The nodes of a graph that one owner claims."""

    owner: str
    regions: tuple[tuple[str, ...], ...]  # names of nodes
    left_alone: Reasons = field(default_factory=dict)  # a refused node -> why
    merges: bool = True  # neighboring regions are merged


def takes_all(_graph: Graph, _found: Match) -> Miss | None:
    return None


@dataclass(frozen=True, slots=True)
class ClaimRule:
    """A pattern of nodes that an owner claims, unless it refuses a match."""

    pattern: Pattern
    refusal: Callable[[Graph, Match], Miss | None] = takes_all


def claims_by_rules(owner: str, rules: Sequence[ClaimRule], graph: Graph, merges: bool = True) -> Claims:
    """Claims the nodes of all matches. If matches overlap, the earlier rule or the later value wins."""
    regions: list[tuple[str, ...]] = []
    why = {node.name: NO_PATTERN for node in graph.nodes}
    for rule in rules:
        for found in _matches_from_the_end(rule.pattern, graph):
            names = tuple(node.name for node in found.nodes)
            if not names or not why.keys() >= set(names):
                continue
            miss = rule.refusal(graph, found)
            if miss is None:
                regions.append(names)
                why = {name: because for name, because in why.items() if name not in names}
            else:
                why |= dict.fromkeys(names, miss.because)
    return Claims(owner, tuple(regions), why, merges)


def claims_by_node(
    owner: str, refusal: Callable[[Graph, Node], Miss | None], graph: Graph, merges: bool = True
) -> Claims:
    """Claims each node by itself, unless it is refused."""
    misses = {node.name: refusal(graph, node) for node in graph.nodes}
    taken = tuple((name,) for name, miss in misses.items() if miss is None)
    why = {name: miss.because for name, miss in misses.items() if miss is not None}
    return Claims(owner, taken, why, merges)


def require_sound(graph: Graph, claims: Sequence[Claims]) -> None:
    """Raises ModelError for an empty region, an unknown node, or a node claimed twice."""
    known = {node.name for node in graph.nodes}
    for each in claims:
        seen: set[str] = set()
        for name in (name for region in each.regions for name in region):
            if name not in known:
                raise _unsound(each.owner, f'claims "{name}", which is not a node of {graph.name}')
            if name in seen:
                raise _unsound(each.owner, f'claims "{name}" twice')
            seen.add(name)
        if () in each.regions:
            raise _unsound(each.owner, "claims a region without nodes")
    owners = [each.owner for each in claims]
    if NOBODY in owners:
        raise ModelError("a claim has no owner")
    twice = next((owner for owner in owners if owners.count(owner) > 1), None)
    if twice is not None:
        raise ModelError(f"{twice} claims nodes twice: return one claim for each owner")


def _unsound(owner: str, what: str) -> ModelError:
    hint = (
        "a region consists of nodes of the graph, and each node belongs to one region: correct the "
        f"accelerator {owner}"
    )
    return ModelError(f"{owner} {what}", hint=hint)


def _matches_from_the_end(pattern: Pattern, graph: Graph) -> Iterator[Match]:
    """Yields matches from the end of the graph, so that the optional end of a pattern is included."""
    for node in reversed(graph.nodes):
        found = (match(pattern, graph, value) for value in node.outputs)
        yield from (each for each in found if each is not None)
