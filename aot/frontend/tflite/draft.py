"""The graph of a TFLite file while it is read, with its states and what only the file knows of a value."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from aot.frontend.builder import GraphBuilder
from aot.ir.graph import Graph, State
from aot.ir.types import Array, TensorType
from aot.ops.quantize import Quantize
from aot.ops.reshape import Reshape

# Keras' layers become fused operators, or the operators of each step.
FOR_RECURRENT_LAYERS = (
    "convert it with Input(batch_shape=(1, STEPS, FEATURES)) and unroll=True, or export it to ONNX"
)


@dataclass
class Variable:
    """The current state of a variable of READ_VARIABLE and ASSIGN_VARIABLE."""

    state: str | None = None  # the value at the start of a run, once it has been read
    now: str | None = None  # the value at this point of a run
    initial: Array | None = None  # None: zeros


@dataclass(kw_only=True)
class TfliteDraft(GraphBuilder):
    """The graph read so far, with states and the file's element types."""

    made: set[str] = field(default_factory=set)  # readable: inputs, constants and results of nodes
    handles: dict[str, str] = field(default_factory=dict)  # value of a resource -> variable
    variables: dict[str, Variable] = field(default_factory=dict)
    unsigned: set[str] = field(default_factory=set)  # values that are unsigned integers in the file
    integers: dict[str, str] = field(default_factory=dict)  # float constant -> the integers it is made of
    pairs: set[str] = field(default_factory=set)  # values that are complex numbers in the file
    restated: set[str] = field(default_factory=set)  # values whose shape differs from the file's
    without_rows: set[str] = field(default_factory=set)  # empty lists, which have no value
    # list -> the values that are joined in it
    rows_of: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _known: dict[str, Array | None] = field(default_factory=dict)
    is_initialising: bool = False  # inside a subgraph that runs once, before the first run

    def add_value(self, name_hint: str, tensor_type: TensorType, data: Array | None = None) -> str:
        """Adds a value with a unique name close to the hint."""
        name = self.value_names.unique(name_hint)
        self.types[name] = tensor_type
        if data is not None:
            self.constants[name] = data
            self.made.add(name)
        return name

    def convert(self, source: str, made: str, label: str) -> None:
        """Adds a change of element type that is not an operator of the file."""
        self.made.add(made)
        self.append(label, Quantize(self.types[made].dtype), (source,), made)

    def again(self, value: str) -> str:
        """Returns the same value under a new name."""
        shown = self.add_value(value, self.types[value])
        self.made.add(shown)
        self.append(shown, Reshape(self.types[value].shape), (value,), shown)
        return shown

    def add_state(self, like: str, shape: tuple[int, ...]) -> str:
        """Adds a state of that shape that an operator keeps between runs; initially zero."""
        return self.add_state_of(like, replace(self.types[like], shape=shape))

    def add_state_of(self, name_hint: str, tensor: TensorType) -> str:
        variable = Variable()
        name = self.add_value(f"{name_hint}/state", tensor)
        self.made.add(name)
        variable.state = variable.now = name
        self.variables[name] = variable
        return name

    def keep_state(self, state: str, value: str) -> None:
        """Sets the value that an operator's state has in the next run."""
        self.variables[state].now = value

    def known(self, value: str) -> Array | None:
        """Returns the constant that a value has for all inputs, or None."""
        if value in self.constants:
            return self.constants[value]
        if value not in self._known:
            self._known[value] = self._evaluated(value)
        return self._known[value]

    def _evaluated(self, value: str) -> Array | None:
        node = next((n for n in reversed(self.nodes) if value in n.outputs), None)
        if node is None:
            return None
        operands = {name: self.known(name) for name in node.reads}
        arrays = {name: array for name, array in operands.items() if array is not None}
        if len(arrays) < len(operands):
            return None
        results = self.computed(node.op, node.inputs, [self.types[n] for n in node.outputs], arrays)
        return dict(zip(node.outputs, results, strict=True))[value]

    def graph(self, name: str, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Graph:
        states = tuple(
            State(v.state, v.now, self._beginning(v.state, v.initial))
            for v in self.variables.values()
            if v.state is not None and v.now is not None
        )
        whole = Graph(name, inputs, outputs, tuple(self.nodes), self.types, self.constants, states)
        return whole.with_nodes(whole.nodes)

    def _beginning(self, state: str, initial: Array | None) -> Array:
        tensor = self.types[state]
        if initial is not None:
            return initial
        zero = 0 if tensor.quant is None else tensor.quant.zero_points[0]
        return np.full(tensor.shape, zero, tensor.dtype.numpy)
