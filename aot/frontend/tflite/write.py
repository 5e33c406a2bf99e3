"""A graph becomes a TFLite file of the same meaning, bit for bit; what cannot be said is named.

With one exception: a float right between two integers is quantized away from zero, as TFLite does it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aot.errors import ModelError
from aot.frontend.tflite.operators import WRITERS
from aot.frontend.tflite.sheet import Sheet, Writer
from aot.frontend.tflite.write_file import ModelSpec, write_tflite
from aot.ir.graph import Graph, Node

WRITTEN_BY = "quantised by Solder"  # in the description, by which such files are known again
_HINT = "write the model as ONNX: -o MODEL.onnx"


@dataclass(frozen=True)
class WrittenModel:
    data: bytes
    nodes: Mapping[str, str]  # the name of a tensor that is computed -> the node whose operators do it


def write_model(graph: Graph, file_name: str) -> bytes:
    """The bytes of the file. ModelError names every node that TFLite has no operator for."""
    return write_with(WRITERS, graph, file_name).data


def unwritable(writers: Mapping[str, Writer], graph: Graph, node: Node) -> str:
    """Says why TFLite has no operator for a node; empty where it has one."""
    return _written(writers, Sheet(graph), node)


def write_with(writers: Mapping[str, Writer], graph: Graph, file_name: str) -> WrittenModel:
    """The file as these writers make it, by op. ModelError names every node that they cannot write."""
    sheet = Sheet(graph)
    inputs = tuple(sheet.value(name) for name in graph.inputs)
    refused = [] if not graph.states else ["states that live from run to run"]
    nodes: dict[str, str] = {}
    for node in graph.nodes:
        before = len(sheet.operators)
        why = _written(writers, sheet, node)
        if why:
            refused.append(f'{node.op.name} "{node.name}": {why}')
        for operator in sheet.operators[before:]:
            nodes |= dict.fromkeys((sheet.tensors[number].name for number in operator.outputs), node.name)
    if refused:
        plural = f"{len(refused)} nodes" if len(refused) > 1 else "a node"
        raise ModelError(
            f"{plural} of the integer model cannot be written as TFLite",
            "\n".join((file_name, *refused)),
            _HINT,
        )
    outputs = tuple(sheet.value(name) for name in graph.outputs)
    name = f"{graph.name}, {WRITTEN_BY}"
    spec = ModelSpec(name, tuple(sheet.tensors), tuple(sheet.operators), inputs, outputs)
    return WrittenModel(write_tflite(spec), nodes)


def _written(writers: Mapping[str, Writer], sheet: Sheet, node: Node) -> str:
    """Says why the node cannot be written, or nothing."""
    writer = writers.get(node.op.name)
    return "there is no operator for it" if writer is None else writer(sheet, node) or ""
