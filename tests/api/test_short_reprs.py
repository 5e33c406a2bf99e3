"""What a prompt shows of a result is short; what a notebook shows keeps its columns in line."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import deploy
from deploy.frameworks.compile_framework_model import CompiledModule, Conversion
from deploy.frameworks.judging import Judgement
from deploy.quantization.onnx_quantizer import Quantized

DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"


def test_a_compiled_module_is_shown_in_a_line() -> None:
    compiled = deploy.compile(DIGITS, board="host")
    quantized = Quantized(b"x" * 60_000, 200_000, (), None, None, None)
    conversion = Conversion("PyTorch", Judgement(1e-7, 1e-3, 4), quantized, None, None, None)
    known = {each.name: getattr(compiled, each.name) for each in fields(compiled)}
    module = CompiledModule(**known, conversion=conversion)
    assert repr(module) == repr(compiled)
    assert repr(conversion) == "<conversion from PyTorch: int8, 1e-07 away at most>"
    assert repr(quantized) == "<int8 model of 60,000 bytes, 200,000 in float>"


def test_a_notebook_keeps_columns_in_line_and_shows_reports_as_pages() -> None:
    compiled = deploy.compile(DIGITS, board="host")
    assert compiled._repr_html_().startswith('<pre style="font-family: monospace">digits')
    report = deploy.report(DIGITS, "host")._repr_html_()
    assert report.startswith('<iframe srcdoc="&lt;!')
    assert "&lt;svg" in report
