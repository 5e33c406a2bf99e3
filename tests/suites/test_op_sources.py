"""What docs/ops.md says of where ops come from is what the public cases become today."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from op_sources import Sources, onnx_sources, tflite_sources

from aot.ops import OPS
from deploy.inspection.op_facts import op_sources


def test_sources_are_of_ops_that_are_there() -> None:
    assert list(op_sources()) == ["tflite", "onnx"]
    assert set().union(*op_sources().values()) <= set(OPS)


@pytest.mark.slow
def test_tflite_operators_become_what_is_stored(shared_dir: Path) -> None:
    assert _promised("tflite", tflite_sources(shared_dir)) == []


@pytest.mark.slow
def test_onnx_operators_become_what_is_stored(shared_dir: Path, require_package: Callable[..., None]) -> None:
    require_package("onnx")
    assert _promised("onnx", onnx_sources(shared_dir)) == []


def _promised(format_name: str, found: Sources) -> list[str]:
    """Ops that come from other operators than is stored, or in other numbers of cases."""
    stored = op_sources()[format_name]
    return [f"{op}: {stored.get(op)}, now {made}" for op, made in found.items() if stored.get(op) != made]
