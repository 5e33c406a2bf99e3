"""ONNX Runtime as the outside opinion: runs a file operator by operator; without it, tests are skipped."""

from collections.abc import Mapping

from needs import require_packages

from aot.ir.types import Array
from deploy.verification.oracles import onnx_session


def run_onnx(data: bytes, inputs: Mapping[str, Array]) -> list[Array]:
    require_packages("onnxruntime")
    outputs: list[Array] = onnx_session(data).run(None, dict(inputs))
    return outputs
