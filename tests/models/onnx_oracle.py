"""ONNX Runtime as the outside opinion: runs a file operator by operator, as the file has it."""

from __future__ import annotations

from collections.abc import Mapping

from aot.ir.types import Array
from deploy.verification.oracles import onnx_session


def run_onnx(data: bytes, inputs: Mapping[str, Array]) -> list[Array]:
    outputs: list[Array] = onnx_session(data).run(None, dict(inputs))
    return outputs
