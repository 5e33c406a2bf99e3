"""Finds a step of a recurrent layer from the hidden values that it computes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from aot.ir.graph import Graph
from aot.ops.activation import Activation
from aot.ops.binary import Add, Mul, Sub
from aot.ops.op import Op
from aot.ops.recurrent import Cell
from aot.ops.reshape import Reshape
from aot.ops.unary import Logistic, Tanh
from aot.passes.recurrence.linear_sum import LinearSum, LinearSums, LinearTerm


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
