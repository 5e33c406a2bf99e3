"""Prepares a float model for a quantizer: not quantized yet, in an opset that has the needed operators."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import onnx.version_converter
from onnx import numpy_helper

from aot.errors import ModelError


def with_vector_biases(data: bytes) -> bytes:
    """Converts Gemm biases to vectors, one for each use, as quantizers expect; the sums are the same."""
    model = onnx.load_model_from_string(data)
    biases = {node.input[2] for node in model.graph.node if node.op_type == "Gemm" and len(node.input) == 3}
    others = {
        name
        for node in model.graph.node
        for place, name in enumerate(node.input)
        if (node.op_type, place) != ("Gemm", 2)
    }
    for constant in model.graph.initializer:
        is_bias = constant.name in biases - others
        if is_bias and len(constant.dims) == 2 and constant.dims[0] == 1:
            del constant.dims[0]
    _spread_numbers(model)
    _copy_shared_vectors(model)
    constants = {constant.name for constant in model.graph.initializer}
    for entry in [entry for entry in model.graph.input if entry.name in constants]:
        model.graph.input.remove(entry)  # old models list them here, with their previous shapes
    del model.graph.value_info[:]
    return bytes(model.SerializeToString())


def _spread_numbers(model: onnx.ModelProto) -> None:
    """Gives each Gemm that adds one number a vector of it."""
    constants = {constant.name: constant for constant in model.graph.initializer}
    for node in model.graph.node:
        bias = constants.get(node.input[2]) if node.op_type == "Gemm" and len(node.input) == 3 else None
        weights = constants.get(node.input[1]) if bias is not None and not bias.dims else None
        if bias is not None and weights is not None:
            is_turned = any(each.name == "transB" and each.i for each in node.attribute)
            vector = np.full(weights.dims[0 if is_turned else 1], numpy_helper.to_array(bias))
            node.input[2] = f"{bias.name}_of_{weights.name}"
            if node.input[2] not in constants:
                constants[node.input[2]] = numpy_helper.from_array(vector, node.input[2])
                model.graph.initializer.append(constants[node.input[2]])


def _copy_shared_vectors(model: onnx.ModelProto) -> None:
    """Gives each use of a constant vector its own copy.

    Exporters merge equal vectors, such as mean and bias of an untrained batch normalization. ONNX Runtime
    cannot read what its quantizer makes of these.
    """
    vectors = {constant.name: constant for constant in model.graph.initializer if len(constant.dims) == 1}
    used: set[str] = set()
    for node in model.graph.node:
        for place, name in enumerate(node.input):
            if name in vectors and name in used:
                copy = onnx.TensorProto()
                copy.CopyFrom(vectors[name])
                copy.name = f"{name}_at_{place}_of_{node.output[0]}"
                model.graph.initializer.append(copy)
                node.input[place] = copy.name
            used.add(name)


# Before 4, type inference considers a constant only if it is also an input; 7 came with opset 13.
_LEAST_IR_VERSION = 7
_MARKS = ("QLinear", "QuantizeLinear", "DequantizeLinear", "ConvInteger", "MatMulInteger")


def float_model(
    data: bytes, least_opset: int, file_name: str, shapes: Mapping[str, tuple[int, ...]]
) -> bytes:
    """Returns the model, upgraded to at least opset `least_opset`, inputs in `shapes`. Raises ModelError."""
    lifted = _in_opset(require_float(data, file_name), least_opset, file_name)
    lifted.ir_version = max(lifted.ir_version, _LEAST_IR_VERSION)
    _take_constants_from_inputs(lifted.graph)
    if shapes:
        _fix_shapes(lifted.graph, shapes)
    return bytes(lifted.SerializeToString())


def require_float(data: bytes, file_name: str) -> onnx.ModelProto:
    """Returns the file's model. Raises ModelError if it is not a model, or already quantized."""
    try:
        model = onnx.load_model_from_string(data)
    except Exception:  # protobuf's DecodeError has moved between versions
        raise ModelError("this is not an ONNX model", file_name, "give a float .onnx file") from None
    marked = next((node for node in model.graph.node if node.op_type.startswith(_MARKS)), None)
    if marked is not None:
        raise ModelError(
            f'the model is already quantized: it has a {marked.op_type}, "{marked.name}"',
            file_name,
            "compile it as it is, or give the float model to quantize it again",
        )
    return model


def _fix_shapes(graph: onnx.GraphProto, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Fixes open sizes; shapes of later values in the file depend on them and are inferred again."""
    for info in graph.input:
        for dim, size in zip(info.type.tensor_type.shape.dim, shapes.get(info.name, ()), strict=False):
            dim.dim_value = size
    del graph.value_info[:]
    for info in graph.output:
        info.type.tensor_type.ClearField("shape")


def _take_constants_from_inputs(graph: onnx.GraphProto) -> None:
    """Removes constants from the inputs: as an input, a constant is only a default, and is not folded."""
    constants = {constant.name for constant in graph.initializer}
    open_inputs = [entry for entry in graph.input if entry.name not in constants]
    del graph.input[:]
    graph.input.extend(open_inputs)


def _in_opset(model: onnx.ModelProto, least_opset: int, file_name: str) -> onnx.ModelProto:
    opset = max((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), default=1)
    if opset >= least_opset:
        return model
    try:
        return onnx.version_converter.convert_version(model, least_opset)
    except Exception as error:  # the converter's C++ errors share no base class
        reason = str(error).splitlines()[0]
        raise ModelError(
            f"the model has opset {opset}, {least_opset} is needed, and onnx cannot convert it: {reason}",
            file_name,
            f"export the model again with opset {least_opset} or newer",
        ) from None
