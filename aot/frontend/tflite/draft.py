"""Builds the graph while a TFLite file is read: values get unique names, and nodes are checked at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
import tflite

from aot.errors import ModelError
from aot.frontend.builder import INDEX_HINT, SEE_OPS, GraphBuilder, index_outside
from aot.frontend.tflite.model_file import operator_options
from aot.ir.graph import Graph, State
from aot.ir.types import Array, DType, TensorType
from aot.ops.op import Op
from aot.ops.quantize import Quantize
from aot.ops.reshape import Reshape

Options = TypeVar("Options")

# Keras' layers become fused operators, or the operators of each step.
FOR_RECURRENT_LAYERS = (
    "convert it with Input(batch_shape=(1, STEPS, FEATURES)) and unroll=True, or export it to ONNX"
)
_OF_SHAPES = (DType.I32, DType.I64)  # element types of shapes, axes and indices


# A subgraph and its input values -> its output values.
ReadSubgraph = Callable[["TfliteDraft", "TfliteOperator", int, Sequence[str]], tuple[str, ...]]


@dataclass(frozen=True)
class TfliteOperator:
    """An operator of the file with its tensors by value name."""

    index: int
    code: str  # the schema's name: "CONV_2D"
    label: str  # short name of its first output
    inputs: tuple[str | None, ...]
    outputs: tuple[str, ...]
    table: tflite.Operator
    file_name: str
    read_subgraph: ReadSubgraph

    @property
    def origin(self) -> str:
        return f'{self.code} #{self.index} "{self.label}"'

    def fail(self, what: str, hint: str = "") -> ModelError:
        return ModelError(what, f"at {self.origin} ({self.file_name})", hint)

    def require_inside(self, indices: Array | None, size: int) -> None:
        """Raises ModelError if known indices are out of range for a dimension of this size."""
        fault = "" if indices is None else index_outside(indices, 0, size)
        if fault:
            raise self.fail(fault, INDEX_HINT)

    def options(self, options_class: type[Options]) -> Options:
        """Returns the operator's attributes, or the schema's defaults if the file has none of this class."""
        return operator_options(self.table, options_class)


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

    def set_constant(self, operator: TfliteOperator, output: str, array: Array) -> None:
        """Sets an operator's result that is already known; its type was declared."""
        self._check_order(operator, (), output)
        self.constants[output] = array
        self.made.add(output)

    def add_known(self, operator: TfliteOperator, op: Op, inputs: Sequence[str | None], output: str) -> None:
        """Computes an op on constants, with the checks of a node."""
        self._require_valid(operator, op, inputs, output)
        (self.constants[output],) = self.computed(op, inputs, (self.types[output],))

    def add_node(self, operator: TfliteOperator, op: Op, inputs: Sequence[str | None], output: str) -> None:
        """Adds a node after checking its operands, its op's constraints and its result's declared shape."""
        self._require_valid(operator, op, inputs, output)
        if self.types[output].dtype in _OF_SHAPES and self.are_known(inputs):
            # Converters compute shapes with operators even if every dimension is known.
            (self.constants[output],) = self.computed(op, inputs, (self.types[output],))
            return
        self.append(operator.label, op, inputs, output, operator.origin)

    def _require_valid(
        self, operator: TfliteOperator, op: Op, inputs: Sequence[str | None], output: str
    ) -> None:
        self._check_order(operator, inputs, output)
        out_type = self.types[output]
        violation = self.violation(op, inputs, out_type)
        if violation is not None:
            raise operator.fail(violation, SEE_OPS)
        ((dtype, shape),) = op.infer(self.types_of(inputs))
        if (dtype, shape) != (out_type.dtype.value, out_type.shape):
            raise operator.fail(
                f"it computes {dtype}{list(shape)}, "
                f"the file declares {out_type.dtype.value}{list(out_type.shape)}",
                "models need static shapes: convert with a fixed input shape",
            )
        self.made.add(output)

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

    def _check_order(self, operator: TfliteOperator, inputs: Sequence[str | None], output: str) -> None:
        for name in inputs:
            if name in self.without_rows:
                raise operator.fail(f'it reads "{name}", an empty list', FOR_RECURRENT_LAYERS)
            if name is not None and name not in self.made:
                raise operator.fail(
                    f'it reads "{name}", which no earlier operator, input or constant provides',
                    "operators must be stored in the order in which they run",
                )
        if output in self.made:
            raise operator.fail(f'it writes "{output}", which is already an input, a constant or a result')

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


Importer = Callable[[TfliteDraft, TfliteOperator], None]
