"""A quantised ONNX model on a Cortex-M4: the instructions of its TFLite twin, the bits of the reference."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from twins import network, onnx_twin, tflite_twin

Run = Callable[..., Any]


@pytest.mark.arm
@pytest.mark.qemu
def test_a_model_costs_what_its_twin_of_the_other_format_costs(
    tmp_path: Path, run_deploy: Run, require_tool: Callable[..., None]
) -> None:
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
    images = np.random.default_rng(0).integers(-128, 128, (3, 1, 12, 12, 3)).astype(np.int8)
    np.savez(tmp_path / "x.npz", image=images)
    found, outputs = [], []
    for name, data in (("twin.tflite", tflite_twin(network())), ("twin.onnx", onnx_twin(network()))):
        (tmp_path / name).write_bytes(data)
        words = ("--board", "mps2-an386", "--inputs", tmp_path / "x.npz", "--output", tmp_path / "out.npz")
        outcome = run_deploy("run", tmp_path / name, *words, "--rounding", "tflm", "--json")
        assert outcome.status == 0, outcome.err
        found.append(json.loads(outcome.out)["instructions"])
        outputs.append(next(iter(np.load(tmp_path / "out.npz").values())).tolist())
    assert found[0] == found[1]
    assert outputs[0] == outputs[1]


@pytest.mark.arm
@pytest.mark.qemu
def test_a_model_with_planes_equals_the_reference_layer_by_layer(
    tmp_path: Path, run_deploy: Run, require_tool: Callable[..., None]
) -> None:
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
    path = tmp_path / "planes.onnx"
    path.write_bytes(onnx_twin(network(), channels_first=True))
    outcome = run_deploy("verify", path, "--board", "mps2-an386", "--layers")
    assert outcome.status == 0, outcome.err
    assert "layers equal to the reference in every bit" in outcome.out
