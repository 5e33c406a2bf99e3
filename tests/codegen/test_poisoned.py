"""Outputs do not change when everything that a plan calls free is filled with garbage after each row."""

from pathlib import Path

import numpy as np
import pytest
from model_checks import OPTIONS, PLAIN

from aot.interpret import run_graph
from aot.target import Target
from codegen.compile import CompiledModel, compile_job
from codegen.job import read_job
from platforms.poisoned import Poisoned

SHARED = (
    ("tiny_kws_dscnn_int8", "ram"),
    ("tiny_kws_dscnn_int8", "speed"),
    ("tiny_ic_resnet8_int8", "ram"),
    ("tiny_vww_mbv1_int8", "ram"),
    ("tflm_micro_speech_int8", "ram"),
    ("tmx_mnist_valid_f32", "ram"),
    ("onnx_mnist8_f32", "ram"),
    ("tflm_mnist_lstm_int8", "speed"),
)
REAL_RTOL, REAL_ATOL = 1e-5, 1e-7  # sums of floats are made in another order


def same(model: CompiledModel, poisoned: Poisoned, seed: int) -> bool:
    chance = np.random.default_rng(seed)
    sample = {
        t.name: chance.integers(-100, 100, t.type.shape).astype(t.type.dtype.numpy) for t in model.inputs
    }
    wanted = run_graph(model.graph, sample)
    made = poisoned.run(sample)
    return all(
        np.array_equal(made[name], value)
        if value.dtype.kind == "i"
        else np.allclose(made[name], value, rtol=REAL_RTOL, atol=REAL_ATOL)
        for name, value in wanted.items()
    )


def poisoned_model(path: Path, target: Target, options: str, folder: Path, hasty: bool = False) -> bool:
    model = compile_job(read_job(path, target, OPTIONS[options]))
    poisoned = Poisoned(model, folder, hasty)
    right = same(model, poisoned, 0)
    assert poisoned.poisoned_bytes > 0
    return right


@pytest.mark.cc
@pytest.mark.parametrize("options", ["ram", "speed", "whole_tensors"])
def test_garbage_in_free_memory_changes_nothing(options, model, tmp_path):
    assert poisoned_model(model, PLAIN, options, tmp_path / "c")


@pytest.mark.cc
def test_garbage_one_step_too_early_is_noticed(model, tmp_path):
    assert not poisoned_model(model, PLAIN, "ram", tmp_path / "c", hasty=True)


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), SHARED)
def test_garbage_in_free_memory_changes_nothing_in_third_party_models(name, options, shared_dir, tmp_path):
    assert poisoned_model(
        next((shared_dir / "models" / name).glob("model.*")), PLAIN, options, tmp_path / "c"
    )
