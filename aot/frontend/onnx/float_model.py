"""A float model as a quantiser takes it: not quantised yet, in an opset that can say what it writes."""

from __future__ import annotations

import onnx
import onnx.version_converter

from aot.errors import ModelError

_MARKS = ("QLinear", "QuantizeLinear", "DequantizeLinear", "ConvInteger", "MatMulInteger")


def float_model(data: bytes, least_opset: int, file_name: str) -> bytes:
    """The same model; in opset `least_opset` if it was older. Raises ModelError."""
    try:
        model = onnx.load_model_from_string(data)
    except Exception:  # protobuf's DecodeError has no fixed home
        raise ModelError("this is not an ONNX model", file_name, "give a float .onnx file") from None
    marked = next((node for node in model.graph.node if node.op_type.startswith(_MARKS)), None)
    if marked is not None:
        raise ModelError(
            f'the model is quantised already: it has a {marked.op_type}, "{marked.name}"',
            file_name,
            "deploy compile takes it as it is; give the float model to quantise it anew",
        )
    opset = max((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), default=1)
    if opset >= least_opset:
        return data
    try:
        converted = onnx.version_converter.convert_version(model, least_opset)
    except Exception as error:  # the converter's C++ errors share no base class
        reason = str(error).splitlines()[0]
        raise ModelError(
            f"the model has opset {opset}, {least_opset} is needed, and onnx cannot convert it: {reason}",
            file_name,
            f"export the model again with opset {least_opset} or newer",
        ) from None
    return bytes(converted.SerializeToString())
