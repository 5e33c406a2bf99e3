"""Finds consecutive steps with the same weights: an unrolled recurrent layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aot.ir.graph import Graph
from aot.ir.types import Array, DType
from aot.ops.rearrange import Loops
from aot.ops.recurrent import Cell
from aot.passes.recurrence.steps import CellStep, LinearSum, LinearSums, LinearTerm, StepFinder
from aot.passes.values import Places

# Positions that two loops visit: rows at equal distances, each with the same steps.


def loops_of(rows: Places) -> Loops | None:
    """Returns loops over rows [count, length] as an image of one column; None if they are irregular."""
    count, length = rows.shape
    first = rows[0]
    down = int(rows[1, 0] - rows[0, 0]) if count > 1 else length
    along = int(first[1] - first[0]) if length > 1 else 1
    made = first[0] + down * np.arange(count)[:, None] + along * np.arange(length)[None, :]
    if not (made == rows).all():
        return None
    return Loops((1, count, 1, length), (down * count, down, down, along), int(first[0]))


LEAST_STEPS = 3  # fewer may be equal by chance


@dataclass(frozen=True, eq=False)
class SharedWeights:
    """The weights of all steps of a layer, gates concatenated in the order of `Cell`."""

    hidden: Array  # [gates * units, units]
    inputs: Array  # [gates * units, features]
    bias: Array  # [gates * units]
    late: Array | None  # [units]: bias of the candidate's hidden part, if the reset gate comes late

    def same(self, other: SharedWeights) -> bool:
        pairs = [(self.inputs, other.inputs), (self.bias, other.bias), (self.hidden, other.hidden)]
        pairs += [] if self.late is None or other.late is None else [(self.late, other.late)]
        return all(a.shape == b.shape and bool((a == b).all()) for a, b in pairs)


@dataclass(frozen=True, eq=False)
class WrittenOutLayer:
    """A layer: its steps in order, the elements that each reads, and the initial states."""

    steps: tuple[CellStep, ...]
    weights: SharedWeights
    source: str  # the value that all steps read
    loops: Loops  # elements of `source` that the steps read, in order
    hidden_before: str | None
    memory_before: str | None

    @property
    def cell(self) -> Cell:
        return self.steps[0].cell


def find_chain(graph: Graph) -> WrittenOutLayer | None:
    """Returns the first float layer that the graph stores step by step, or None."""
    finder = StepFinder(graph, LinearSums(graph))
    made = [v for n in graph.nodes if n.op.name in ("mul", "add", "tanh") for v in n.outputs]
    found = (finder.step_of(value) for value in made if graph.types[value].dtype is DType.F32)
    steps = {step.hidden: step for step in found if step is not None}
    used: set[str] = set()
    for step in reversed(steps.values()):
        if step.hidden in used:
            continue
        rows = list(_backwards(step, steps))
        used.update(each.hidden for each in rows)
        chain = _chain(graph, rows[::-1]) if len(rows) >= LEAST_STEPS else None
        if chain is not None:
            return chain
    return None


def _backwards(last: CellStep, steps: Mapping[str, CellStep]) -> Iterator[CellStep]:
    """Yields the steps from the last one back, while their cells and units are the same."""
    by_memory = {step.memory: step for step in steps.values() if step.memory}
    step: CellStep | None = last
    while step is not None:
        yield step
        before = _before(step, steps, by_memory)
        is_alike = before is not None and (before.cell, before.units) == (step.cell, step.units)
        step = before if is_alike else None


def _before(
    step: CellStep, steps: Mapping[str, CellStep], by_memory: Mapping[str, CellStep]
) -> CellStep | None:
    if step.cell is Cell.LSTM:
        return by_memory.get(step.memory_before or "")
    if step.cell is not Cell.RNN:
        return steps.get(step.hidden_before)
    return _rnn_before(step, steps)


def _rnn_before(step: CellStep, steps: Mapping[str, CellStep]) -> CellStep | None:
    """Returns the step before: it multiplies its hidden input by the same matrix, or is the first."""
    for term in _terms(step):
        before = steps.get(term.root)
        if before is None or before.cell is not Cell.RNN or before is step or term.matrix is None:
            continue
        if any(_equal(term.matrix, other.matrix) for other in _terms(before)):
            return before
        if len(_terms(before)) < len(_terms(step)):
            return before
    return None


def _terms(step: CellStep) -> tuple[LinearTerm, ...]:
    return tuple(term for gate in step.gates if gate is not None for term in gate.terms)


def _equal(one: Array | None, other: Array | None) -> bool:
    return one is not None and other is not None and one.shape == other.shape and bool((one == other).all())


@dataclass(frozen=True, eq=False)
class _StepParts:
    """A step split into the parts shared with other steps, and its inputs."""

    weights: SharedWeights
    source: str
    places: Places
    hidden_before: str | None


def _chain(graph: Graph, steps: Sequence[CellStep]) -> WrittenOutLayer | None:
    """Returns the longest tail of the steps that share weights and read parts of the same value."""
    parts: list[_StepParts] = []
    for step, before in zip(reversed(steps[1:]), reversed(steps[:-1]), strict=True):
        found = _parts(step, before.hidden)
        if found is None or (parts and not _alike(found, parts[-1])):
            break
        parts.append(found)
    if len(parts) < LEAST_STEPS - 1:
        return None
    kept = steps[len(steps) - len(parts) :]
    beginning = _beginning(steps[0], parts[-1]) if len(kept) == len(steps) - 1 else None
    if beginning is not None:
        parts.append(beginning)
        kept = steps
    loops = loops_of(np.stack([each.places for each in reversed(parts)]))
    if loops is None:
        return None
    return WrittenOutLayer(
        tuple(kept),
        parts[0].weights,
        parts[0].source,
        loops,
        _unless_zero(graph, parts[-1].hidden_before),
        _unless_zero(graph, kept[0].memory_before),
    )


def _alike(one: _StepParts, other: _StepParts) -> bool:
    return one.source == other.source and one.weights.same(other.weights)


def _unless_zero(graph: Graph, value: str | None) -> str | None:
    known = None if value is None else graph.constants.get(value)
    return None if known is not None and not known.any() else value


def _beginning(first: CellStep, second: _StepParts) -> _StepParts | None:
    """Returns the first step's parts. It reads a foreign state, or none: then its sums lack that term."""
    if any(gate is None for gate in first.gates):
        return _without_memory(first, second)
    roots = {t.root for t in _terms(first) if t.root != second.source} | {first.hidden_before}
    for root in (root for root in roots if root):
        found = _parts(first, root)
        if found is not None and _alike(found, second):
            return found
    return _without_state(first, second)


def _without_state(first: CellStep, second: _StepParts) -> _StepParts | None:
    """Returns the first step of a layer with zero state: its sums have only inputs and biases."""
    gates = [gate.terms for gate in first.gates if gate is not None]
    found = _inputs([[term for term in terms if term.root != first.hidden_before] for terms in gates])
    if found is None:
        return None
    source, places, inputs = found
    bias = np.concatenate([gate.bias for gate in first.gates if gate is not None])
    late = first.late.bias if first.late is not None else None
    if first.late is not None and first.late.terms:
        return None
    made = SharedWeights(second.weights.hidden, inputs, bias, late)
    parts = _StepParts(made, source, places, first.hidden_before or None)
    return parts if _alike(parts, second) else None


def _without_memory(first: CellStep, second: _StepParts) -> _StepParts | None:
    """Returns a first step without a forget gate, because the cell is empty; all other gates are the same."""
    units, kept = first.units, [n for n, gate in enumerate(first.gates) if gate is not None]
    rows = np.concatenate([np.arange(n * units, (n + 1) * units) for n in kept])
    whole = second.weights
    others = SharedWeights(whole.hidden[rows], whole.inputs[rows], whole.bias[rows], None)
    found = _without_state(first, _StepParts(others, second.source, second.places, None))
    return None if found is None else _StepParts(whole, found.source, found.places, None)


def _parts(step: CellStep, before: str) -> _StepParts | None:
    """Returns the step as products of its input and the previous hidden values; None for anything else."""
    gates = [gate for gate in step.gates if gate is not None]
    own, late = [_taken(gate, before) for gate in gates], None
    if len(gates) < len(step.gates):
        return None
    if step.late is not None:  # the reset gate multiplies the hidden part of the last gate
        if own[-1] is not None:
            return None
        own[-1], late = _taken(step.late, before), step.late.bias
        if len(step.late.terms) != 1:
            return None
    others = [tuple(term for term in gate.terms if term.root != before) for gate in gates]
    inputs = _inputs(others)
    matrices = [matrix for matrix in own if matrix is not None]
    if inputs is None or len(matrices) < len(own):
        return None
    source, places, weights = inputs
    shared = SharedWeights(
        np.concatenate(matrices), weights, np.concatenate([gate.bias for gate in gates]), late
    )
    return _StepParts(shared, source, places, before)


def _taken(gate: LinearSum, before: str) -> Array | None:
    """Returns the matrix from the hidden values to a gate."""
    terms = [term for term in gate.terms if term.root == before]
    if len(terms) != 1 or terms[0].matrix is None:
        return None
    (term,) = terms
    is_whole = len(term.places) == len(gate.bias) and bool((term.places == np.arange(len(gate.bias))).all())
    return term.matrix if is_whole else None


def _inputs(gates: Sequence[Sequence[LinearTerm]]) -> tuple[str, Places, Array] | None:
    """Returns the value and the positions that all gates read, and the input matrix."""
    if any(len(terms) != 1 for terms in gates):
        return None
    terms = [terms[0] for terms in gates]
    first, matrices = terms[0], [term.matrix for term in terms if term.matrix is not None]
    is_same = all(t.root == first.root and np.array_equal(t.places, first.places) for t in terms)
    if not is_same or len(matrices) < len(terms):
        return None
    return first.root, first.places, np.concatenate(matrices)
