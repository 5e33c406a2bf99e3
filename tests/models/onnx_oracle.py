"""ONNX Runtime as the outside opinion: runs a file operator by operator, as the file has it."""

from __future__ import annotations

from collections.abc import Mapping

from aot.ir.types import Array


def run_onnx(data: bytes, inputs: Mapping[str, Array]) -> list[Array]:
    # An optional package, imported only where a test asks for it.
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    outputs: list[Array] = session.run(None, dict(inputs))
    return outputs
