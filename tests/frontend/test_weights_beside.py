"""Weights in a file beside the ONNX file: read as if they were in it, or refused with the file's name."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import onnx
import pytest
from error_facts import refused
from onnx import helper, numpy_helper

from aot.errors import ModelError
from aot.frontend.load import load_model, read_model
from aot.target import Target
from codegen.compile import compile_job
from codegen.job import read_job
from codegen.options import CompileOptions

WEIGHTS = np.random.default_rng(0).normal(size=(64, 8)).astype(np.float32)


def saved(path: Path, is_beside: bool) -> Path:
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    x, y = (helper.make_tensor_value_info(name, 1, (1, n)) for name, n in (("x", 64), ("y", 8)))
    graph = helper.make_graph([node], "net", [x], [y], [numpy_helper.from_array(WEIGHTS, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path, save_as_external_data=is_beside, location=f"{path.name}.data", size_threshold=0)
    return path


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    return saved(tmp_path / "net.onnx", True)


def test_they_are_the_constants_of_the_graph(beside: Path) -> None:
    assert beside.stat().st_size < WEIGHTS.nbytes
    (made,) = (a for a in load_model(beside).constants.values() if a.size == WEIGHTS.size)
    assert sorted(made.ravel()) == sorted(WEIGHTS.ravel())  # type: ignore[type-var]


def test_the_model_is_known_by_them_too(beside: Path) -> None:
    before = compile_job(read_job(beside, Target("host"), CompileOptions())).model_hash
    assert before == hashlib.sha256(read_model(beside)).hexdigest()
    other = beside.parent / "net.onnx.data"
    other.write_bytes(other.read_bytes()[::-1])
    assert compile_job(read_job(beside, Target("host"), CompileOptions())).model_hash != before


def test_a_file_without_them_is_read_as_it_is(tmp_path: Path) -> None:
    path = saved(tmp_path / "net.onnx", False)
    assert read_model(path) == path.read_bytes()


def test_a_missing_file_is_named(beside: Path) -> None:
    (beside.parent / "net.onnx.data").unlink()
    refused(
        lambda: load_model(beside),
        f"net.onnx.data model stores weights {beside} model's external_data=False PyTorch folder export",
        ModelError,
    )


def test_a_file_that_is_too_short_is_refused(beside: Path) -> None:
    data = beside.parent / "net.onnx.data"
    data.write_bytes(data.read_bytes()[:100])
    with pytest.raises(ModelError):
        load_model(beside)


def test_a_file_outside_the_folder_is_not_read(beside: Path) -> None:
    model = onnx.load(beside, load_external_data=False)
    data = beside.parent / "net.onnx.data"
    (beside.parent / "inner").mkdir()
    entry = next(e for e in model.graph.initializer[0].external_data if e.key == "location")
    entry.value = f"../{data.name}"
    inner = beside.parent / "inner" / "net.onnx"
    inner.write_bytes(model.SerializeToString())
    with pytest.raises(ModelError, match='the weights "w" cannot be read from'):
        load_model(inner)
