"""The runner of real models says of each what it found."""

import shutil

import numpy as np
import pytest
from model_run import lines_of

pytestmark = [pytest.mark.cc, pytest.mark.slow]
SMALL = {
    "onnx_o2c_lesson9_f32": [("onnx", "right", 10)],
    "tflm_hello_world_int8": [("tflm", "right", 10), ("litert-ref", "right", 10)],
}


@pytest.fixture(autouse=True)
def _needs_gcc(require_tool):
    require_tool("gcc")


@pytest.mark.parametrize("name", SMALL)
def test_a_model_has_a_line_for_each_rounding_that_is_stored(name, shared_dir):
    lines = list(lines_of(shared_dir / "models" / name))
    assert [(line.rounding, line.verdict, line.samples) for line in lines] == SMALL[name]


def test_an_output_that_is_one_off_is_wrong(shared_dir, tmp_path):
    folder = shared_dir / "models" / "tflm_hello_world_int8"
    stored = dict(np.load(folder / "golden.npz"))
    stored["out_0"] = stored["out_0"] + np.int8(1)
    shutil.copy(folder / "model.tflite", tmp_path)
    np.savez(tmp_path / "golden.npz", **stored)
    assert [line.verdict for line in lines_of(tmp_path)] == ["wrong", "right"]


def test_a_model_that_is_refused_says_why(shared_dir, tmp_path):
    shutil.copy(shared_dir / "models" / "tflm_hello_world_int8" / "golden.npz", tmp_path)
    (tmp_path / "model.tflite").write_bytes(b"nothing")
    assert [line.verdict for line in lines_of(tmp_path)] == ["refused", "refused"]
