"""A graph becomes a TFLite file of the same meaning, bit for bit; what cannot be said is named.

But for one thing: a real number right between two integers is quantised away from zero, as TFLite does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from aot.errors import ModelError
from aot.frontend.tflite.operators import WRITERS
from aot.frontend.tflite.sheet import Fields
from aot.frontend.tflite.write_file import ModelSpec, OperatorSpec, TensorSpec, write_tflite
from aot.ir.graph import Array, Graph, Node
from aot.ir.types import DType, Quant, TensorType

WRITTEN_BY = "quantised by Solder"  # in the description, by which such files are known again
_HINT = "write the model as ONNX: -o MODEL.onnx"


@dataclass
class Sheet:
    """The file while it is being written."""

    graph: Graph
    tensors: list[TensorSpec] = field(default_factory=list)
    operators: list[OperatorSpec] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def type(self, name: str) -> TensorType:
        return self.graph.types[name]

    def array(self, name: str) -> Array | None:
        return self.graph.constants.get(name)

    def value(self, name: str) -> int:
        """The tensor of a value of the graph."""
        if name not in self.numbers:
            self.numbers[name] = self.tensor(name, self.type(name), self.array(name))
        return self.numbers[name]

    def tensor(self, name: str, tensor: TensorType, data: Array | None = None) -> int:
        """A tensor of its own."""
        quant = tensor.quant or Quant((), ())
        self.tensors.append(
            TensorSpec(
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
        """A constant of 32 bits."""
        array = np.asarray(values, np.int32)
        return self.tensor(name, TensorType(DType.I32, array.shape), array)

    def operator(
        self, code: str, version: int, inputs: Sequence[int], output: int, options: str = "", **fields: Fields
    ) -> None:
        self.operators.append(OperatorSpec(code, version, tuple(inputs), (output,), options, fields))


def write_model(graph: Graph, file_name: str) -> bytes:
    """The bytes of the file. ModelError names every node that TFLite has no operator for."""
    sheet = Sheet(graph)
    inputs = tuple(sheet.value(name) for name in graph.inputs)
    refused = [] if not graph.states else ["states that live from run to run"]
    for node in graph.nodes:
        why = _written(sheet, node)
        if why:
            refused.append(f'{node.op.name} "{node.name}": {why}')
    if refused:
        plural = f"{len(refused)} nodes" if len(refused) > 1 else "a node"
        raise ModelError(
            f"{plural} of the integer model cannot be written as TFLite",
            "\n".join((file_name, *refused)),
            _HINT,
        )
    outputs = tuple(sheet.value(name) for name in graph.outputs)
    name = f"{graph.name}, {WRITTEN_BY}"
    return write_tflite(ModelSpec(name, tuple(sheet.tensors), tuple(sheet.operators), inputs, outputs))


def _written(sheet: Sheet, node: Node) -> str:
    """Why the node cannot be written, or nothing."""
    writer = WRITERS.get(node.op.name)
    return "there is no operator for it" if writer is None else writer(sheet, node) or ""
