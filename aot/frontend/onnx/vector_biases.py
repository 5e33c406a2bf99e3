"""Converts Gemm biases of shape [1, n] or one number to vectors, and copies vectors for each of their uses.

Quantizers expect both; the sums are the same.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import numpy_helper


def with_vector_biases(data: bytes) -> bytes:
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
