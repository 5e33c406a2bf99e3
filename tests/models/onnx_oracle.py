"""ONNX Runtime as the outside opinion: runs a file operator by operator, as the file has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aot.ir.types import Array


def run_onnx(data: bytes, inputs: Mapping[str, Array]) -> list[Array]:
    outputs: list[Array] = session_of(data, optimizes=False).run(None, dict(inputs))
    return outputs


def session_of(model: bytes | str, optimizes: bool = True) -> Any:
    """Opens a model. If it optimizes, int8 sums are exact on every processor.

    Without VNNI, ONNX Runtime adds pairs of uint8 x int8 products in 16 bits, which saturates; the entry
    makes its optimizer choose other kernels.
    """
    import onnxruntime  # an optional package, imported only if a test needs it

    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")
    options.log_severity_level = 3
    if not optimizes:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
