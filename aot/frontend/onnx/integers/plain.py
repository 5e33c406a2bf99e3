"""Operators on quantized integers: most use the stored integers, some the values they represent."""

from __future__ import annotations

from dataclasses import replace

from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.operation import OnnxOperator
from aot.ops.quantize import Dequantize, Quantize
from aot.ops.reshape import Reshape

# These move elements and keep their quantization, or define their operands' meaning themselves.
_KEEPING = frozenset(
    {
        "DequantizeLinear",
        "Flatten",
        "Identity",
        "Reshape",
        "Slice",
        "Split",
        "SplitToSequence",
        "Squeeze",
        "Transpose",
        "Unsqueeze",
    }
)
_COMPARING = frozenset({"Concat", "GlobalMaxPool", "MaxPool"})


def with_plain_integers(node: OnnxOperator) -> OnnxOperator:
    """Returns the operator over operands without quantization, if it computes with stored integers."""
    if node.proto.op_type in _KEEPING:
        return node
    return replace(
        node, operands=tuple(_plain(node, v) if isinstance(v, Value) else v for v in node.operands)
    )


def through_reals(node: OnnxOperator) -> Value | None:
    """Runs a comparison or move over floats; with_integers turns it into one op. None for others."""
    operands = [v for v in node.operands if isinstance(v, Value)]
    quants = {node.draft.types[v.name].quant for v in operands}
    (quant, *others) = quants
    if node.proto.op_type not in _COMPARING or others or quant is None or node.result_count > 1:
        return None
    floats = [Value(node.apply(Dequantize(), v.name), v.order, TensorProto.FLOAT) for v in operands]
    (made,) = node.run(node.proto, floats, node.place)
    assert isinstance(made, Value), "its importer returns one result only"
    to = Quantize(node.dtype(operands[0]), halves_to_even=True)
    name = node.draft.apply(node.place, to, (made.name,), quant)
    return Value(name, made.order, operands[0].element)


def _plain(node: OnnxOperator, value: Value) -> Value:
    tensor = node.draft.types[value.name]
    if tensor.quant is None:
        return value
    return replace(value, name=node.draft.apply(node.place, Reshape(tensor.shape), (value.name,)))
