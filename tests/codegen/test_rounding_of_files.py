"""Without --rounding a file has the rounding of the runtime that runs such files, and the head names it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from drawing import Draw
from one_op_models import MAKERS
from qdq_builder import QdqBuilder
from tflite_builder import ModelBuilder

from aot.frontend.tflite.write_file import FileTensor
from aot.target import Target
from codegen.compile import compile_job
from codegen.job import read_job
from codegen.options import CompileOptions, Rounding


def operator(name: str, is_unsigned: bool) -> bytes:
    return MAKERS[name](Draw(np.random.default_rng(3), ModelBuilder(name), is_unsigned=is_unsigned))


def with_unsigned_edges() -> bytes:
    """An int8 layer whose input and output are unsigned bytes."""
    build = ModelBuilder("edges")
    x = build.input("x", (1, 4, 4, 2), 0.5, 128, dtype="uint8")
    signed = FileTensor("signed", (1, 4, 4, 2), "int8", (0.5,), (0,))
    inner = build.operator("QUANTIZE", 2, (x,), [signed], "QuantizeOptions")
    y = build.conv2d(inner, np.ones((3, 1, 1, 2), np.int8), None, weight_scales=[0.1] * 3, scale=0.5)
    out = FileTensor("out", (1, 4, 4, 3), "uint8", (0.5,), (128,))
    return build.finish(build.operator("QUANTIZE", 2, (y,), [out], "QuantizeOptions"))


def quantised_onnx() -> bytes:
    build = QdqBuilder()
    x = build.input("x", (1, 2, 4, 4), 0.5)
    w = build.weights(np.ones((3, 2, 1, 1), np.int8), [0.1])
    return build.finish(build.quantised(build.node("Conv", x, w), 0.5))


def float_onnx() -> bytes:
    build = QdqBuilder()
    return build.finish(build.node("Sigmoid", build.real_input("x", (1, 4))))


FILES: dict[str, tuple[Callable[[], bytes], str, Rounding]] = {
    "uint8": (lambda: operator("CONV_2D", True), "tflite", Rounding.LITERT_REF),
    "int8": (lambda: operator("AVERAGE_POOL_2D", False), "tflite", Rounding.TFLM),
    "int8 with unsigned edges": (with_unsigned_edges, "tflite", Rounding.TFLM),
    "quantised ONNX": (quantised_onnx, "onnx", Rounding.ONNX),
    "ONNX of floats": (float_onnx, "onnx", Rounding.TFLM),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_has_the_rounding_of_its_runtime(name: str, tmp_path: Path) -> None:
    make, suffix, rounding = FILES[name]
    (path := tmp_path / f"net.{suffix}").write_bytes(make())
    job = read_job(path, Target("host"), CompileOptions())
    assert job.options.rounding is rounding
    head = next(text for file, text in compile_job(job).sources.items() if file == "net.h")
    assert f"rounding {rounding.value}" in head.replace("--rounding ", "rounding ")


def test_what_is_asked_for_holds(tmp_path: Path) -> None:
    (path := tmp_path / "net.onnx").write_bytes(quantised_onnx())
    job = read_job(path, Target("host"), CompileOptions(rounding=Rounding.TFLM))
    assert job.options.rounding is Rounding.TFLM
