"""Finds a step of a recurrent layer from the hidden values that it computes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import permutations

import numpy as np

from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType
from aot.ops.activation import Activation
from aot.ops.binary import Add, Mul, Sub
from aot.ops.concat import Concat
from aot.ops.dense import Dense
from aot.ops.op import Op
from aot.ops.rearrange import Rearrange
from aot.ops.recurrent import Cell
from aot.ops.reshape import Reshape
from aot.ops.unary import Logistic, Tanh
from aot.passes.values import Places, origins

# Float vectors as linear sums: constant matrices times parts of other values, and a bias.


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


@dataclass(frozen=True, eq=False)
class CellStep:
    """A step: the sums that enter each gate, in the order of `Cell`, before the activation."""

    cell: Cell
    hidden: str  # its result
    gates: tuple[LinearSum | None, ...]  # None: an LSTM's forget gate if there is no cell yet
    memory: str = ""  # an LSTM's new cell
    memory_before: str | None = None  # None: no cell yet
    hidden_before: str = ""  # of a GRU
    late: LinearSum | None = None  # of a GRU: hidden part of the candidate, multiplied by the reset gate

    @property
    def units(self) -> int:
        return len(next(gate for gate in self.gates if gate is not None).bias)


@dataclass(frozen=True)
class StepFinder:
    """Finds steps in a graph."""

    graph: Graph
    sums: LinearSums

    def step_of(self, hidden: str) -> CellStep | None:
        """Returns the step that computes these hidden values; None if no known cell does."""
        return self._lstm(hidden) or self._gru(hidden) or self._rnn(hidden)

    def _lstm(self, hidden: str) -> CellStep | None:
        for gate, rest in self._pairs(hidden, Mul):
            out, (memory,) = self._gate(gate, Logistic), self._operands(rest, Tanh) or ("",)
            if out is None or not memory:
                continue
            memory = self._behind(memory)
            for taken, kept in self._ways_to_remember(memory):
                new = self._taken(taken)
                forget, before = self._kept(kept) if kept else (None, None)
                if new is not None and (before is not None or not kept):
                    gates = (new[0], out, forget, new[1])
                    return CellStep(Cell.LSTM, hidden, gates, memory, before)
        return None

    def _ways_to_remember(self, memory: str) -> Iterator[tuple[str, str]]:
        """Yields pairs of products: the added and the kept one; a simplified first step keeps nothing."""
        yield from self._pairs(memory, Add)
        if self._operands(memory, Mul):
            yield memory, ""

    def _taken(self, product: str) -> tuple[LinearSum, LinearSum] | None:
        for gate, new in self._pairs(product, Mul):
            found = self._gate(gate, Logistic), self._gate(new, Tanh)
            if found[0] is not None and found[1] is not None:
                return found[0], found[1]
        return None

    def _kept(self, product: str) -> tuple[LinearSum | None, str | None]:
        for gate, before in self._pairs(product, Mul):
            forget = self._gate(gate, Logistic)
            if forget is not None:
                return forget, self._behind(before)
        return None, None

    def _gru(self, hidden: str) -> CellStep | None:
        """Matches z * before + (1 - z) * candidate."""
        for kept, taken in self._pairs(hidden, Add):
            for (gate, before), (rest, new) in self._both(kept, taken):
                update, sums = self._gate(gate, Logistic), self._gate(new, Tanh)
                if update is None or sums is None or not self._is_rest_of(rest, gate):
                    continue
                step = self._with_reset(hidden, self._behind(before), update, sums)
                if step is not None:
                    return step
        return None

    def _both(self, one: str, other: str) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
        yield from ((a, b) for a in self._pairs(one, Mul) for b in self._pairs(other, Mul))

    def _is_rest_of(self, rest: str, gate: str) -> bool:
        """Returns whether `rest` is 1 - gate."""
        found = self._operands(rest, Sub)
        if not found or self._behind(found[1]) != self._behind(gate):
            return False
        ones = self.graph.constants.get(found[0])
        return ones is not None and bool((ones == 1).all())

    def _with_reset(self, hidden: str, before: str, update: LinearSum, new: LinearSum) -> CellStep | None:
        for term in new.terms:
            for gate, rest in self._pairs(term.root, Mul):
                reset, others = self._gate(gate, Logistic), tuple(t for t in new.terms if t is not term)
                if reset is None or not _is_whole(term):
                    continue
                if term.matrix is None:
                    gates = update, reset, LinearSum(others, new.bias)
                    late = self.sums.of(rest)
                    return CellStep(Cell.GRU_RESET_AFTER, hidden, gates, hidden_before=before, late=late)
                if self._behind(rest) == before:
                    own = LinearTerm(before, term.places, term.matrix)
                    gates = update, reset, LinearSum((*others, own), new.bias)
                    return CellStep(Cell.GRU, hidden, gates, hidden_before=before)
        return None

    def _rnn(self, hidden: str) -> CellStep | None:
        sums = self._gate(hidden, Tanh)
        return None if sums is None or not sums.terms else CellStep(Cell.RNN, hidden, (sums,))

    def _gate(self, value: str, activation: type[Op]) -> LinearSum | None:
        found = self._operands(value, activation)
        return self.sums.of(found[0]) if found else None

    def _pairs(self, value: str, op: type[Op]) -> Iterator[tuple[str, str]]:
        """Yields both orders of the operands."""
        yield from permutations(self._operands(value, op), 2)

    def _operands(self, value: str, op: type[Op]) -> tuple[str, ...]:
        """Returns the operands of the producing node; none if it is another op, or if shapes differ."""
        value = self._behind(value)
        maker = self.graph.producers.get(value)
        if maker is None or not isinstance(maker.op, op):
            return ()
        if getattr(maker.op, "activation", Activation.NONE) is not Activation.NONE:
            return ()
        count = self.graph.types[value].elements
        sizes = {self.graph.types[name].elements for name in maker.reads if name not in self.graph.constants}
        return maker.reads if sizes <= {count} else ()

    def _behind(self, value: str) -> str:
        """Returns the value with the same elements before reshapes."""
        while (maker := self.graph.producers.get(value)) is not None and isinstance(maker.op, Reshape):
            value = maker.reads[0]
        return value


def _is_whole(term: LinearTerm) -> bool:
    return bool((term.places == np.arange(len(term.places))).all())
