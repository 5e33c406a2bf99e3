"""Values of a graph: who reads them, which nodes compute them, what they view, and new ones."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from aot.ir.graph import Graph, Node
from aot.ir.types import Array, TensorType
from aot.ops.concat import Concat
from aot.ops.rearrange import Rearrange
from aot.ops.reshape import Reshape
from aot.passes.outcome import Miss


def rename_reads(nodes: Iterable[Node], renamed: Mapping[str, str]) -> tuple[Node, ...]:
    """Returns the nodes, with inputs that are keys of `renamed` replaced by its values."""
    return tuple(
        replace(node, inputs=tuple(name and renamed.get(name, name) for name in node.inputs))
        for node in nodes
    )


def fresh_name(preferred: str, *taken: Container[str]) -> str:
    """Returns the preferred name, or that name with the first free number."""
    name, number = preferred, 2
    while any(name in names for names in taken):
        name, number = f"{preferred}#{number}", number + 1
    return name


class NewValues:
    """Values and constants that a rewriting adds to a graph, under names that are free in it."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.types: dict[str, TensorType] = {}
        self.constants: dict[str, Array] = {}

    def type(self, value: str) -> TensorType:
        return self.types.get(value) or self.graph.types[value]

    def value(self, preferred: str, kind: TensorType) -> str:
        """Returns the name of a new value, which begins with `preferred`."""
        name = fresh_name(preferred, self.graph.types, self.types)
        self.types[name] = kind
        return name

    def constant(self, preferred: str, kind: TensorType, array: Array) -> str:
        name = self.value(preferred, kind)
        self.constants[name] = array
        return name


_MOST_NAMED = 8


def needed_elsewhere(graph: Graph, value: str) -> Miss | None:
    """Returns why a value must exist besides its one reader; None if it need not."""
    if value in graph.kept:
        return Miss(f'reads "{value}", which is {_kept_as(graph, value)}')
    if len(graph.readers[value]) > 1:
        return Miss(f'reads "{value}", which has several readers: {_listed(graph.readers[value])}')
    return None


def _listed(nodes: Sequence[Node]) -> str:
    """Joins the nodes' names; of very many only the first: each of a thousand readers may list all."""
    names = ", ".join(f'"{node.name}"' for node in nodes[:_MOST_NAMED])
    more = len(nodes) - _MOST_NAMED
    return f"{names} and {more:,} more" if more > 0 else names


def _kept_as(graph: Graph, value: str) -> str:
    return "an output" if value in graph.outputs else "the next value of a state"


def source_of(graph: Graph, value: str) -> str:
    """Returns the kind of a value that no node computes."""
    if value in graph.constants:
        return "a constant"
    return "an input" if value in graph.inputs else "a state"


def sole_makers(graph: Graph, value: str, is_wanted: Callable[[Node], bool | Miss]) -> list[Node] | Miss:
    """Returns the wanted nodes that compute the value for no other reader, or why there are none.

    `is_wanted` is asked for each node from the value backwards: a node that is not wanted must be a reshape
    or a concatenation, whose parts are followed one by one.
    """
    while (shared := needed_elsewhere(graph, value)) is None:
        maker = graph.producers.get(value)
        if maker is None:
            return Miss(f'reads "{value}", {source_of(graph, value)}: no node computes it')
        wanted = is_wanted(maker)
        if isinstance(wanted, Miss):
            return wanted
        if wanted:
            return [maker]
        if isinstance(maker.op, Concat):
            parts = [sole_makers(graph, part, is_wanted) for part in maker.reads]
            miss = next((part for part in parts if isinstance(part, Miss)), None)
            return miss or [node for part in parts if not isinstance(part, Miss) for node in part]
        (value,) = maker.reads
    return shared


def behind_views(value: str, graph: Graph) -> str:
    """Returns the value before any reshapes; the value itself if it is not the result of one."""
    maker = graph.producers.get(value)
    if maker is None or not isinstance(maker.op, Reshape):
        return value
    return behind_views(maker.reads[0], graph)


def without_input_views(graph: Graph) -> Graph:
    """Returns the graph whose input, if it is only read through reshapes, has the shape of the last."""
    while not isinstance(seen := past_input_view(graph), Miss):
        graph = seen
    return graph


def past_input_view(graph: Graph) -> Graph | Miss:
    """Returns the graph whose input has the shape of the reshape that alone reads it, or why not."""
    if len(graph.inputs) != 1:
        return Miss(f"the model has {len(graph.inputs)} inputs")
    (value,) = graph.inputs
    if value in graph.kept:
        return Miss(f'the input "{value}" is an output, too')
    readers = graph.readers[value]
    if len(readers) != 1 or not isinstance(readers[0].op, Reshape):
        names = ", ".join(f'"{node.name}" ({node.op.name})' for node in readers)
        return Miss(f'the input "{value}" is read as it is, by {names}')
    (view,) = readers[0].outputs
    if view in graph.kept:
        return Miss(f'the reshape "{readers[0].name}" computes "{view}", which is an output')
    nodes = rename_reads((node for node in graph.nodes if node is not readers[0]), {view: value})
    types = {name: kind for name, kind in graph.types.items() if name != view}
    return replace(graph, nodes=nodes, types={**types, value: graph.types[view]})


Places = npt.NDArray[np.int64]


def origins(graph: Graph, value: str) -> Iterator[tuple[str, Places]]:
    """Yields the value itself, then its sources one by one, while they store the same integers."""
    places: Places = np.arange(graph.types[value].elements)
    yield value, places
    while (maker := graph.producers.get(value)) is not None and isinstance(maker.op, Rearrange | Reshape):
        if graph.types[maker.reads[0]].quant != graph.types[value].quant:
            return
        if isinstance(maker.op, Rearrange):
            places = maker.op.loops.indices()[places].astype(np.int64)
        value = maker.reads[0]
        yield value, places
