"""Gemm biases of shape [1, n] become vectors: the same sum, and what quantisers expect."""

from __future__ import annotations

import onnx


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
    constants = {constant.name for constant in model.graph.initializer}
    for entry in [entry for entry in model.graph.input if entry.name in constants]:
        model.graph.input.remove(entry)  # so old models list them; their shapes there are those of before
    del model.graph.value_info[:]
    return bytes(model.SerializeToString())
