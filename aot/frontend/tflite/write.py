"""Writes a graph as a TFLite file that computes the same, bit for bit; unsupported nodes are reported.

One exception: a float exactly between two integers is quantized away from zero, like in TFLite.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aot.errors import ModelError
from aot.frontend.tflite.operators import WRITERS
from aot.frontend.tflite.write_file import ModelSpec, Sheet, Writer, write_tflite
from aot.ir.graph import Graph, Node

WRITTEN_BY = "quantized by Solder"  # the description by which such files are recognized
_HINT = "write the model as ONNX: -o MODEL.onnx"


@dataclass(frozen=True)
class WrittenModel:
    data: bytes
    nodes: Mapping[str, str]  # name of a computed tensor -> the node that its operators implement


def write_model(graph: Graph, file_name: str) -> bytes:
    """Returns the bytes of the file. ModelError names every node without a TFLite operator."""
    return write_with(WRITERS, graph, file_name).data


def unwritable(writers: Mapping[str, Writer], graph: Graph, node: Node) -> str:
    """Returns why TFLite has no operator for a node; empty if it has one."""
    return _written(writers, Sheet(graph), node)


def write_with(writers: Mapping[str, Writer], graph: Graph, file_name: str) -> WrittenModel:
    """Returns the file, written by these writers by op. ModelError names every node they cannot write."""
    sheet = Sheet(graph)
    inputs = tuple(sheet.value(name) for name in graph.inputs)
    refused = [] if not graph.states else ["states that persist between runs"]
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
    """Returns why the node cannot be written, or an empty text."""
    writer = writers.get(node.op.name)
    return "TFLite has no operator for it" if writer is None else writer(sheet, node) or ""
