"""The graph: nodes in execution order, each value computed once. Immutable; passes build new ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from aot.ir.types import Array, TensorType
from aot.ops.op import Op

T = TypeVar("T", bound=Op)


@dataclass(frozen=True)
class Node:
    """One operation: reads named values (None for an absent optional one) and computes named values."""

    name: str  # unique; from the model file if it has one
    op: Op
    inputs: tuple[str | None, ...]
    outputs: tuple[str, ...]
    origin: str = ""  # location in the user's file: 'CONV_2D #3 "resnet/conv2d_1"'

    def op_as(self, kind: type[T]) -> T:
        """Returns the op, which the caller knows to be of that kind."""
        assert isinstance(self.op, kind), f"{self.name} is a {self.op.name}"
        return self.op

    @property
    def reads(self) -> tuple[str, ...]:
        """Returns the inputs that are present."""
        return tuple(name for name in self.inputs if name is not None)


@dataclass(frozen=True)
class State:
    """A value that persists between runs: nodes read `name`; `next` is its value in the next run."""

    name: str
    next: str  # a computed value of the same dtype and shape, or another state
    initial: Array  # value in the first run


@dataclass(frozen=True)
class Window:
    """A window that slides over rows. The graph computes one hop; states keep what later hops need."""

    rows: int
    hop: int  # rows of the graph's input: the new ones
    macs: int  # multiply-accumulate operations of a whole window
    states: int  # of the graph, those that keep rows; they come first

    @property
    def hops(self) -> int:
        """Returns the number of runs until the outputs are those of a full window."""
        return -(-self.rows // self.hop)


@dataclass(frozen=True)
class Graph:
    """A model: inputs, states and constants flow through nodes, in execution order, to outputs and states.

    Every name in `types` is an input, a state, a constant, or computed by exactly one node before it is read.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    types: Mapping[str, TensorType]
    constants: Mapping[str, Array] = field(default_factory=dict)
    states: tuple[State, ...] = ()
    window: Window | None = None  # None if each run is complete
    unrolled: Mapping[str, str] = field(default_factory=dict, compare=False)  # loop of the file -> why it is

    @property
    def given(self) -> tuple[str, ...]:
        """Returns the values that exist before the first node: inputs and states."""
        return (*self.inputs, *(state.name for state in self.states))

    @property
    def kept(self) -> tuple[str, ...]:
        """Returns the values needed after the last node: outputs and next states."""
        return (*self.outputs, *(state.next for state in self.states))

    @cached_property
    def producers(self) -> Mapping[str, Node]:
        return {value: node for node in self.nodes for value in node.outputs}

    @cached_property
    def readers(self) -> Mapping[str, tuple[Node, ...]]:
        found: dict[str, list[Node]] = {name: [] for name in self.types}
        for node in self.nodes:
            for value in dict.fromkeys(node.reads):
                found[value].append(node)
        return {name: tuple(nodes) for name, nodes in found.items()}

    @cached_property
    def _places(self) -> Mapping[str, int]:
        """Returns the position of each node by name; nodes that `with_changed` left may be earlier."""
        return {node.name: place for place, node in enumerate(self.nodes)}

    def input_types(self, node: Node) -> tuple[TensorType | None, ...]:
        return tuple(None if v is None else self.types[v] for v in node.inputs)

    def output_types(self, node: Node) -> tuple[TensorType, ...]:
        return tuple(self.types[v] for v in node.outputs)

    def with_nodes(
        self,
        nodes: Iterable[Node],
        types: Mapping[str, TensorType] | None = None,
        constants: Mapping[str, Array] | None = None,
        outputs: tuple[str, ...] | None = None,
    ) -> Graph:
        """Returns the model with other nodes, without values that are no longer used."""
        nodes = tuple(nodes)
        types = {**self.types, **(types or {})}
        constants = {**self.constants, **(constants or {})}
        outputs = self.outputs if outputs is None else outputs
        used = {*self.given, *outputs, *(state.next for state in self.states)}
        for node in nodes:
            used.update(node.reads, node.outputs)
        return replace(
            self,
            nodes=nodes,
            outputs=outputs,
            types={name: t for name, t in types.items() if name in used},
            constants={name: a for name, a in constants.items() if name in used},
        )

    def with_changed(
        self,
        changed: Mapping[str, Node | None],
        types: Mapping[str, TensorType] | None = None,
        constants: Mapping[str, Array] | None = None,
    ) -> Graph:
        """Returns the model in which nodes are replaced, by name, or removed; values that become unused stay.

        Producers and readers are those of this graph but for the changed nodes, so that many small changes
        of a large graph take little time.
        """
        nodes, places, before = list(self.nodes), self._places, list[Node]()
        for name, new in changed.items():
            place = min(places[name], len(nodes) - 1)
            while nodes[place].name != name:
                place -= 1
            before.append(nodes[place])
            nodes[place : place + 1] = [] if new is None else [new]
            if new is not None and new.name != name:
                places = {**places, new.name: places[name]}
        after = [node for node in changed.values() if node is not None]
        types = {**self.types, **types} if types else self.types
        constants = {**self.constants, **constants} if constants else self.constants
        made = replace(self, nodes=tuple(nodes), types=types, constants=constants)
        producers, readers = dict(self.producers), dict(self.readers)
        for value in (value for node in before for value in node.outputs):
            del producers[value]
        producers.update((value, node) for node in after for value in node.outputs)
        for value in {value for node in (*before, *after) for value in node.reads}:
            found = [node for node in readers.get(value, ()) if node.name not in changed]
            found += [node for node in after if value in node.reads]
            readers[value] = tuple(found if len(found) < 2 else sorted(found, key=nodes.index))
        readers.update((value, readers.get(value, ())) for node in after for value in node.outputs)
        # Cached properties are kept there.
        made.__dict__.update(producers=producers, readers=readers, _places=places)
        return made
