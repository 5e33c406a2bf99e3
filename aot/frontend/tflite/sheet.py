"""The TFLite file being written: writers of operators add tensors and operators to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from aot.frontend.tflite.write_file import FileTensor, OperatorSpec
from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType, Quant, TensorType

Fields = float | str


@dataclass
class Sheet:
    """The file being written."""

    graph: Graph
    tensors: list[FileTensor] = field(default_factory=list)
    operators: list[OperatorSpec] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def type(self, name: str) -> TensorType:
        return self.graph.types[name]

    def array(self, name: str) -> Array | None:
        return self.graph.constants.get(name)

    def value(self, name: str) -> int:
        """Returns the tensor of a value of the graph."""
        if name not in self.numbers:
            self.numbers[name] = self.tensor(name, self.type(name), self.array(name))
        return self.numbers[name]

    def tensor(self, name: str, tensor: TensorType, data: Array | None = None) -> int:
        """Adds a tensor."""
        quant = tensor.quant or Quant((), ())
        self.tensors.append(
            FileTensor(
                name,
                tensor.shape,
                tensor.dtype.numpy.name,
                quant.scales,
                quant.zero_points,
                quant.axis or 0,
                data,
            )
        )
        return len(self.tensors) - 1

    def integers(self, name: str, values: Sequence[int] | Array) -> int:
        """Adds a 32-bit integer constant."""
        array = np.asarray(values, np.int32)
        return self.tensor(name, TensorType(DType.I32, array.shape), array)

    def operator(
        self, code: str, version: int, inputs: Sequence[int], output: int, options: str = "", **fields: Fields
    ) -> None:
        self.operators.append(OperatorSpec(code, version, tuple(inputs), (output,), options, fields))


Writer = Callable[[Sheet, Node], str | None]  # returns why the node cannot be written, or None


def input_of(node: Node, number: int = 0) -> str:
    name = node.inputs[number]
    assert name is not None, f"{node.name} has no input {number}"
    return name


def view(sheet: Sheet, source: int, target: int, shape: tuple[int, ...]) -> None:
    wanted = sheet.integers(f"shape_{target}", shape)
    sheet.operator("RESHAPE", 1, (source, wanted), target, "ReshapeOptions")
