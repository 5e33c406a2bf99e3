"""Sites: each node of a graph with everything that its kernel may depend on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from aot.ir.graph import Graph, Node, State
from aot.ir.region import DeviceRegion
from aot.ops.update_slice import UpdateSlice
from aot.ops.write_rows import ShiftRows, WriteRows
from aot.target import Feature, Target
from codegen.accelerators.choice import left_to_cpu
from codegen.accelerators.table import strategies_with, without_strategies
from codegen.isa.plain.scalar_math import ScalarMath
from codegen.isa.table import math_of
from codegen.kernels.kernel import Kernel, PassedOver, Site
from codegen.kernels.strategy import ChosenStrategy, Strategy, choose_strategy
from codegen.lower.decisions import Decisions
from codegen.lower.tensors import is_view
from codegen.options import CompileOptions
from codegen.own_schedules import schedules_outside

_UPDATES = (WriteRows, ShiftRows, UpdateSlice)


@dataclass(frozen=True)
class KernelsMade:
    """A cache that variants of a graph share: by node and op, the node's decisions, and row formats."""

    kernels: dict[tuple[object, ...], Kernel] = field(default_factory=dict)
    chosen: dict[tuple[object, ...], ChosenStrategy] = field(default_factory=dict)


def site_key(site: Site) -> tuple[object, ...]:
    """Returns a key that is equal for sites with the same kernels, apart from row formats."""
    rows = site.allow_widened_rows, site.unpadded, site.spreads, site.in_place
    flags = site.optimize, site.is_brief, site.compact, *rows
    return site.node.name, site.node.op.name, flags


@dataclass(frozen=True)
class Sites:
    """A graph with everything else that decides its kernels."""

    graph: Graph
    target: Target
    options: CompileOptions
    decisions: Decisions
    made: KernelsMade = field(default_factory=KernelsMade, compare=False)

    @cached_property
    def _math(self) -> ScalarMath:
        return math_of(self.target)

    @cached_property
    def updates(self) -> Mapping[str, str]:
        """Maps each value that is written in place to the state whose memory it is."""
        return updated_states(self.graph)

    def of(self, node: Node) -> Site:
        graph, decided, name = self.graph, self.decisions, node.name
        constants = {
            i: graph.constants[v] for i, v in enumerate(node.inputs) if v is not None and v in graph.constants
        }
        return Site(
            node=node,
            inputs=graph.input_types(node),
            outputs=graph.output_types(node),
            constants=constants,
            target=self.target,
            math=self._math,
            optimize=decided.goal_of(name, self.options.optimize),
            allow_widened_rows=name in decided.widened,
            tuned=decided.tuned,
            unpadded=name in decided.unpadded,
            is_plain=not self.options.at_level.has_schedules,
            is_brief=name in decided.brief,
            compact=name in decided.compact,
            spreads=name in decided.spread,
            for_any_weights=self.options.weights_external or self.options.tables,
            half_weights=self.options.half_weights,
            cores=self.options.cores,
            in_place=node.outputs[0] in self.updates,
        )

    def chosen_for(self, site: Site) -> ChosenStrategy:
        """Returns the strategy for a site, chosen once for all variants that share kernels."""
        key, known = site_key(site), self.made.chosen
        return known.get(key) or known.setdefault(key, self._choose(site))

    def _choose(self, site: Site) -> ChosenStrategy:
        """Chooses a strategy: first the user's, then the accelerators', then the op's."""
        words, op = self.options.accelerators, site.node.op
        own = schedules_outside(op.name, self.options.schedules)
        ours = strategies_with(words, op, site.target)
        if site.is_plain and not isinstance(op, DeviceRegion):
            from codegen.kernels.nests import plain_strategies

            ours = (*(each for each in ours if each.device), *plain_strategies(op.name, site))
        # Plain loops need some four times the time of SMLAD, but twenty times that of Helium.
        is_brief = site.is_brief and Feature.MVE not in site.target.features
        ours, brief = _for_brief(ours, site) if is_brief else (ours, ())
        left = () if isinstance(op, DeviceRegion) else left_to_cpu(ours, site)
        devices = {each.device for each in left}
        chosen = choose_strategy((*own, *(each for each in ours if each.device not in devices)), site)
        passed = (*without_strategies(words, op), *left, *brief, *chosen.passed_over)
        return replace(chosen, passed_over=passed)


def _for_brief(
    strategies: Sequence[Strategy], site: Site
) -> tuple[tuple[Strategy, ...], tuple[PassedOver, ...]]:
    """Returns the accelerators' strategies and those for any core, and why the others are passed over."""
    kept = tuple(each for each in strategies if each.device or not each.needs)
    why = f"the layer multiplies only {site.macs:,} times in a run, too little for more code"
    return kept, tuple(PassedOver(each.name, why) for each in strategies if each not in kept)


def updated_states(graph: Graph) -> Mapping[str, str]:
    """Maps the result of each update that is written in place to the state whose memory it is.

    The next value is then the old one with some rows written or shifted. Nothing may read an older value
    after the update that overwrites it.
    """
    position = {node.name: number for number, node in enumerate(graph.nodes)}
    return {
        node.outputs[0]: state.name for state in graph.states for node in _in_place(graph, state, position)
    }


def _in_place(graph: Graph, state: State, position: Mapping[str, int]) -> list[Node]:
    """Returns the updates that lead from the state to its next value; none if one needs a copy."""
    updates, value = list[Node](), state.next
    while value != state.name:
        node = graph.producers.get(value)
        if node is None or not (is_view(node) or _is_update(graph, node)):
            return []
        updates += [] if is_view(node) else [node]
        value = node.reads[0]
    return updates if all(_is_last_reader(graph, node, position) for node in updates) else []


def _is_update(graph: Graph, node: Node) -> bool:
    """Returns whether it changes rows of its first input; constant ones may be in another address space."""
    return isinstance(node.op, _UPDATES) and node.reads[1] not in graph.constants


def _is_last_reader(graph: Graph, update: Node, position: Mapping[str, int]) -> bool:
    """Returns whether the update is the last to read its old value, which nothing needs afterwards."""
    old = list(_views(graph, _source(graph, update.reads[0])))
    readers = [node for value in old for node in graph.readers[value] if not is_view(node)]
    is_over = all(position[node.name] <= position[update.name] for node in readers)
    reads_once = sum(value in old for value in update.reads) == 1
    return is_over and reads_once and not any(value in graph.kept for value in old)


def _source(graph: Graph, value: str) -> str:
    """Returns the value that a chain of views shows."""
    node = graph.producers.get(value)
    while node is not None and is_view(node):
        value = node.reads[0]
        node = graph.producers.get(value)
    return value


def _views(graph: Graph, value: str) -> Iterator[str]:
    """Yields the value and everything that shows its memory."""
    yield value
    for node in graph.readers[value]:
        if is_view(node):
            yield from _views(graph, node.outputs[0])
