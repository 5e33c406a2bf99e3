"""A graph becomes a TFLite file of the same meaning, bit for bit; what cannot be said is named.

But for one thing: a real number right between two integers is quantised away from zero, as TFLite does it.
"""

from __future__ import annotations

from aot.errors import ModelError
from aot.frontend.tflite.operators import WRITERS
from aot.frontend.tflite.sheet import Sheet
from aot.frontend.tflite.write_file import ModelSpec, write_tflite
from aot.ir.graph import Graph, Node

WRITTEN_BY = "quantised by Solder"  # in the description, by which such files are known again
_HINT = "write the model as ONNX: -o MODEL.onnx"


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
    """Says why the node cannot be written, or nothing."""
    writer = WRITERS.get(node.op.name)
    return "there is no operator for it" if writer is None else writer(sheet, node) or ""
