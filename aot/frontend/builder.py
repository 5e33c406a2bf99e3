"""Builds graphs: unique names, checked nodes, known results; nodes before or after a model; one op alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from aot.ir.graph import Graph, Node, State
from aot.ir.types import Array, DType, Quant, TensorType
from aot.ir.verify import verify
from aot.ops.constraints import violations
from aot.ops.op import Op, Types
from aot.ops.rearrange import Loops, Rearrange, row_steps
from aot.ops.reshape import Reshape

MAX_TENSOR_BYTES = 2**28  # far beyond any microcontroller, but still quick to process
INDEX_HINT = "other runtimes reject this file, too: correct the indices, and export it again"
SEE_OPS = "deploy docs ops lists what each operator supports"


def too_large(what: str, tensor: TensorType) -> str:
    size = f"has {tensor.bytes:,} bytes, the limit is {MAX_TENSOR_BYTES:,}"
    return f"{what} of shape {list(tensor.shape)} {size}"


def index_outside(indices: Array, first: int, size: int) -> str:
    """Names the first index that is out of range for a dimension; "" if all are in range.

    At run time, indices are clamped. An invalid index in the file is a mistake that every runtime rejects.
    """
    missing = [number for number in np.unique(indices).tolist() if not first <= number < size]
    have = f"a dimension of {size} has {first} to {size - 1}"
    return f"index {missing[0]} does not exist: {have}" if missing else ""


class Names:
    """Names in use. Instances may share `numbers`, the counters that make a repeated name hint unique."""

    def __init__(self, numbers: dict[str, int] | None = None) -> None:
        self._taken: set[str] = set()
        self._numbers = {} if numbers is None else numbers  # name_hint -> the last number used with it

    def unique(self, name_hint: str) -> str:
        """Returns the hint, or the hint with the first free number, and reserves it."""
        name = name_hint
        while name in self._taken:
            self._numbers[name_hint] = self._numbers.get(name_hint, 1) + 1
            name = f"{name_hint}#{self._numbers[name_hint]}"
        self._taken.add(name)
        return name

    def take(self, name: str) -> None:
        self._taken.add(name)

    def free(self, name: str) -> None:
        self._taken.discard(name)


@dataclass(kw_only=True)
class GraphBuilder:
    """The graph read so far. The reader of each format adds what its files need."""

    rounding: str  # a mode of aot.ops.rounding, which importers pass to ops
    types: dict[str, TensorType] = field(default_factory=dict)
    constants: dict[str, Array] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    value_names: Names = field(default_factory=Names)
    node_names: Names = field(default_factory=Names)

    def types_of(self, names: Iterable[str | None]) -> Types:
        """Returns their types; None for an absent optional operand."""
        return [None if name is None else self.types[name] for name in names]

    def violation(self, op: Op, inputs: Sequence[str | None], result: TensorType) -> str | None:
        """Returns the first of the op's rules that these operands and this result violate."""
        return next(iter(violations(op, self.types_of(inputs), (result,))), None)

    def are_known(self, names: Iterable[str | None]) -> bool:
        """Returns whether all present operands are constants."""
        return all(name is None or name in self.constants for name in names)

    def computed(
        self,
        op: Op,
        inputs: Sequence[str | None],
        results: Sequence[TensorType],
        known: Mapping[str, Array] | None = None,
    ) -> tuple[Array, ...]:
        """Returns the op's results for known operands, by default constants."""
        known = self.constants if known is None else known
        arrays = [None if name is None else known[name] for name in inputs]
        with np.errstate(all="ignore"):  # infinities and NaN in a file belong to the file
            return op.reference(arrays, self.types_of(inputs), results)

    def append(self, label: str, op: Op, inputs: Sequence[str | None], output: str, origin: str = "") -> None:
        """Appends a node with a unique name, without checks."""
        self.nodes.append(Node(self.node_names.unique(label), op, tuple(inputs), (output,), origin))


# Builds a model of one op without a file: its inputs are the model's, its constants are given.


def graph_of_op(
    name: str,
    op: Op,
    operands: Mapping[str, TensorType],
    constants: Mapping[str, Array],
    output: tuple[str, TensorType],
) -> Graph:
    """Returns the graph; operands that are among the constants are constant."""
    result, kind = output
    inputs: Sequence[str] = tuple(each for each in operands if each not in constants)
    node = Node(name, op, tuple(operands), (result,))
    graph = Graph(name, tuple(inputs), (result,), (node,), {**operands, result: kind}, dict(constants))
    verify(graph)
    return graph


# Adds nodes before or after an imported model: each reads the result of the previous one.


def builder_of(graph: Graph) -> GraphBuilder:
    """Returns a builder that knows the model's values and does not reuse their names."""
    builder = GraphBuilder(rounding="tflm", types=dict(graph.types))
    for name in graph.types:
        builder.value_names.take(name)
    for node in graph.nodes:
        builder.node_names.take(node.name)
    return builder


class AddedNodes:
    """Adds nodes, constants and states with a name prefix; `value` is the most recent result."""

    def __init__(self, builder: GraphBuilder, prefix: str, origin: str, value: str) -> None:
        self._builder, self._prefix, self._origin, self.value = builder, prefix, origin, value
        self._initial: dict[str, Array] = {}
        self.states: list[State] = []

    def branch(self, value: str) -> AddedNodes:
        """Returns another chain for the same model that continues after another value."""
        other = AddedNodes(self._builder, self._prefix, self._origin, value)
        other._initial, other.states = self._initial, self.states
        return other

    @property
    def type(self) -> TensorType:
        return self._builder.types[self.value]

    def then(
        self,
        label: str,
        op: Op,
        *operands: str | Array | None,
        quant: Quant | None = None,
    ) -> str:
        """Adds a node on the last value and these operands; its result becomes the last value."""
        names = [self.value, *(self._operand(label, each) for each in operands)]
        ((dtype, shape),) = op.infer(self._builder.types_of(names))
        result = self._name(label)
        kind = TensorType(DType(dtype), shape, quant)
        broken = self._builder.violation(op, names, kind)
        assert broken is None, f"{label}: {broken}"
        self._builder.types[result] = kind
        self._builder.append(f"{self._prefix}/{label}", op, names, result, self._origin)
        self.value = result
        return result

    def view(self, label: str, *shape: int) -> None:
        """Views the same elements in another shape."""
        if self.type.shape != shape:
            self.then(label, Reshape(shape), quant=self.type.quant)

    def state(self, label: str, initial: Array, quant: Quant | None = None) -> str:
        """Adds a value that persists between runs; `keep` sets its next value."""
        name = self._name(label)
        self._builder.types[name] = TensorType(_dtype_of(initial), initial.shape, quant)
        self._initial[name] = initial
        return name

    def keep(self, state: str, value: str) -> None:
        self.states.append(State(state, value, self._initial[state]))

    def _name(self, label: str) -> str:
        return self._builder.value_names.unique(f"{self._prefix}/{label}")

    def _operand(self, label: str, given: str | Array | None) -> str | None:
        if given is None or isinstance(given, str):
            return given
        name = self._name(f"{label}/with")
        self._builder.types[name] = TensorType(_dtype_of(given), given.shape)
        self._builder.constants[name] = given
        return name


def _dtype_of(array: Array) -> DType:
    return next(dtype for dtype in DType if dtype.numpy == array.dtype)


# Selects elements by strides in the cheapest way: a view, row by row, or vector to vector.


@dataclass(frozen=True)
class Rearrangement:
    """A rearrangement of a tensor viewed in a shape."""

    op: Rearrange
    source: tuple[int, ...]


def rearrangement(tensor: TensorType, loops: Loops, shape: tuple[int, ...]) -> Rearrangement | None:
    """Returns the op that selects the elements into `shape`; None if a view of that shape suffices."""
    merged = loops.merged()
    if merged.offset == 0 and prod(shape) == tensor.elements and merged.strides in ((), (1,)):
        return None
    if shape == loops.sizes and _by_rows(tensor, loops):
        return Rearrangement(Rearrange(shape, loops.sizes, loops.strides, loops.offset), tensor.shape)
    flat = Rearrange((1, prod(shape)), merged.sizes, merged.strides, merged.offset)
    return Rearrangement(flat, (1, tensor.elements))


def _by_rows(source: TensorType, loops: Loops) -> bool:
    if source.rank != 4 or source.shape[0] != 1:
        return False
    return row_steps(loops, source.shape[2] * source.shape[3]) is not None
