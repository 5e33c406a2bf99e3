"""Adds nodes before or after an imported model: each reads the result of the previous one."""

from __future__ import annotations

from aot.frontend.builder import GraphBuilder
from aot.ir.graph import Graph, State
from aot.ir.types import Array, DType, Quant, TensorType
from aot.ops.op import Op
from aot.ops.reshape import Reshape


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
