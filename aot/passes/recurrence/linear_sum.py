"""Float vectors as linear sums: constant matrices times parts of other values, and a bias."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType
from aot.ops.activation import Activation
from aot.ops.binary import Add
from aot.ops.concat import Concat
from aot.ops.dense import Dense
from aot.ops.rearrange import Rearrange
from aot.ops.reshape import Reshape
from aot.passes.values import Places, origins


@dataclass(frozen=True, eq=False)
class LinearTerm:
    """A matrix times some elements of a value; without a matrix, the elements themselves."""

    root: str
    places: Places  # in the root's flat elements
    matrix: Array | None

    def picked(self, rows: Places) -> LinearTerm:
        if self.matrix is None:
            return LinearTerm(self.root, self.places[rows], None)
        return LinearTerm(self.root, self.places, self.matrix[rows])


@dataclass(frozen=True, eq=False)
class LinearSum:
    """Terms and a bias, each with one entry per element of the vector."""

    terms: tuple[LinearTerm, ...]
    bias: Array

    def picked(self, rows: Places) -> LinearSum:
        return LinearSum(tuple(term.picked(rows) for term in self.terms), self.bias[rows])


@dataclass(frozen=True)
class LinearSums:
    """The sums of a graph's values, cached."""

    graph: Graph
    found: dict[str, LinearSum] = field(default_factory=dict)

    def of(self, value: str) -> LinearSum:
        """Returns the sum of a value; a value that is not a linear sum is its own only term."""
        if value not in self.found:
            self.found[value] = self._constant(value) or self._made(value) or self._itself(value)
        return self.found[value]

    def _itself(self, value: str) -> LinearSum:
        count = self.graph.types[value].elements
        return LinearSum((LinearTerm(value, np.arange(count), None),), np.zeros(count))

    def _constant(self, value: str) -> LinearSum | None:
        known = self.graph.constants.get(value)
        return None if known is None else LinearSum((), known.astype(np.float64).reshape(-1))

    def _made(self, value: str) -> LinearSum | None:
        maker = self.graph.producers.get(value)
        if maker is None or self.graph.types[value].dtype is not DType.F32:
            return None
        match maker.op:
            case Reshape():
                return self.of(maker.reads[0])
            case Rearrange(loops=loops):
                return self.of(maker.reads[0]).picked(loops.indices().astype(np.int64))
            case Add(activation=Activation.NONE):
                return self._sum(maker)
            case Dense(activation=Activation.NONE):
                return self._product(maker)
        return None

    def _sum(self, node: Node) -> LinearSum | None:
        count = self.graph.types[node.outputs[0]].elements
        if any(self.graph.types[name].elements != count for name in node.reads):
            return None
        one, other = (self.of(name) for name in node.reads)
        return LinearSum((*one.terms, *other.terms), np.add(one.bias, other.bias))

    def _product(self, node: Node) -> LinearSum | None:
        x, w, *bias = node.reads
        weights = self.graph.constants.get(w)
        if weights is None or weights.dtype != np.float32 or self.graph.types[x].elements != weights.shape[1]:
            return None
        added = self.graph.constants.get(bias[0]) if bias else np.zeros(len(weights))
        if added is None:
            return None
        terms, first = [], 0
        for root, places in self._parts(x):
            terms.append(LinearTerm(root, places, weights[:, first : first + len(places)]))
            first += len(places)
        return LinearSum(tuple(terms), added.astype(np.float64))

    def _parts(self, vector: str) -> list[tuple[str, Places]]:
        """Returns the values that are concatenated in a vector."""
        *_, (root, places) = origins(self.graph, vector)
        maker = self.graph.producers.get(root)
        is_joined = maker is not None and isinstance(maker.op, Concat) and len(places) == self._joined(maker)
        if maker is None or not is_joined or (places != np.arange(len(places))).any():
            return [(root, places)]
        return [part for each in maker.reads for part in self._parts(each)]

    def _joined(self, node: Node) -> int:
        """Returns the length of a vector concatenated from vectors; 0 for anything else."""
        types = [self.graph.types[name] for name in (*node.reads, *node.outputs)]
        return types[-1].elements if all(max(t.shape, default=1) == t.elements for t in types) else 0
