"""The graph while a TFLite file is being read: values get unique names, nodes are checked as they come."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import tflite

from aot.errors import ModelError
from aot.ir.graph import Array, Graph, Node
from aot.ir.types import TensorType
from aot.ops.constraints import violations
from aot.ops.op import Op

Options = TypeVar("Options")
_EMPTY_TABLE = struct.pack("<HHi", 4, 4, 4)  # a vtable without fields, and the table at byte 4 that uses it


@dataclass(frozen=True)
class Operator:
    """One operator of the file with its tensors by value name."""

    index: int
    code: str  # the schema's name: "CONV_2D"
    label: str  # short name of its first output
    inputs: tuple[str | None, ...]
    outputs: tuple[str, ...]
    table: tflite.Operator
    file_name: str

    @property
    def origin(self) -> str:
        return f'{self.code} #{self.index} "{self.label}"'

    def fail(self, what: str, hint: str = "") -> ModelError:
        return ModelError(what, f"at {self.origin} ({self.file_name})", hint)

    def options(self, options_class: type[Options]) -> Options:
        """The operator's attributes; where the file has none of this kind, the schema's defaults."""
        options = options_class()
        kind, table = self.table.BuiltinOptionsType(), self.table.BuiltinOptions()
        if table is None or kind != getattr(tflite.BuiltinOptions, options_class.__name__):
            options.Init(_EMPTY_TABLE, 4)  # type: ignore[attr-defined]
            return options
        options.Init(table.Bytes, table.Pos)  # type: ignore[attr-defined]
        return options


class Names:
    """Names given out so far."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def unique(self, wish: str) -> str:
        """The wish, or the wish with the first free number."""
        name = wish
        while name in self._taken:
            number = self._next.get(wish, 2)
            self._next[wish] = number + 1
            name = f"{wish}#{number}"
        self._taken.add(name)
        return name


@dataclass
class Draft:
    """What has been read so far."""

    types: dict[str, TensorType] = field(default_factory=dict)
    constants: dict[str, Array] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)  # readable: inputs, constants and results of nodes
    nodes: list[Node] = field(default_factory=list)
    node_names: Names = field(default_factory=Names)
    value_names: Names = field(default_factory=Names)

    def add_value(self, wish: str, tensor_type: TensorType, data: Array | None = None) -> str:
        """A value with a name of its own, as near to the wish as can be."""
        name = self.value_names.unique(wish)
        self.types[name] = tensor_type
        if data is not None:
            self.constants[name] = data
            self.made.add(name)
        return name

    def add_node(self, operator: Operator, op: Op, inputs: Sequence[str | None], output: str) -> None:
        """A node, after its operands, its op's constraints and its result's declared shape are checked."""
        self._check_order(operator, inputs, output)
        types = [None if name is None else self.types[name] for name in inputs]
        out_type = self.types[output]
        for violation in violations(op, types, (out_type,)):
            raise operator.fail(violation, "docs/ops.md lists what each operator supports")
        ((dtype, shape),) = op.infer(types)
        if (dtype, shape) != (out_type.dtype.value, out_type.shape):
            raise operator.fail(
                f"it computes {dtype}{list(shape)}, "
                f"the file declares {out_type.dtype.value}{list(out_type.shape)}",
                "models need static shapes: convert with a fixed input shape",
            )
        name = self.node_names.unique(operator.label)
        self.made.add(output)
        self.nodes.append(Node(name, op, tuple(inputs), (output,), operator.origin))

    def _check_order(self, operator: Operator, inputs: Sequence[str | None], output: str) -> None:
        for name in inputs:
            if name is not None and name not in self.made:
                raise operator.fail(
                    f'it reads "{name}", which no earlier operator, input or constant provides',
                    "operators must be stored in the order in which they run",
                )
        if output in self.made:
            raise operator.fail(f'it writes "{output}", which is already an input, a constant or a result')

    def graph(self, name: str, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Graph:
        whole = Graph(name, inputs, outputs, tuple(self.nodes), self.types, self.constants)
        return whole.with_nodes(whole.nodes)


Importer = Callable[[Draft, Operator, str], None]  # the last is the mode of rounding
