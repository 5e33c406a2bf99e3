"""States saved and restored through firmware: on this machine, on emulated cores, and in cartridges."""

from pathlib import Path

import numpy as np
import pytest
from onnx import helper
from onnx_files import onnx_file

import deploy
from deploy.devices.connection import OpenLine

WIDTH = 300  # more states than fit one request
SAMPLES = np.arange(3 * WIDTH, dtype=np.float32).reshape(3, 1, WIDTH)
EMULATED = ("mps2-an385", "mps2-an386")  # M3, M4

pytestmark = [pytest.mark.cc, pytest.mark.usefixtures("own_folders")]


def running_sums(path: Path, factor: float = 1.0) -> Path:
    """Two sums of all samples, one of them scaled: two states."""
    nodes = [
        helper.make_node("Mul", ["x", "factor"], ["scaled"]),
        helper.make_node("Add", ["h", "x"], ["hn"]),
        helper.make_node("Add", ["g", "scaled"], ["gn"]),
        helper.make_node("Add", ["hn", "gn"], ["y"]),
    ]
    inputs, outputs = (dict.fromkeys(names, (1, WIDTH)) for names in (["x", "h", "g"], ["y", "hn", "gn"]))
    path.write_bytes(onnx_file(nodes, inputs, outputs, {"factor": np.float32(factor)}))
    return path


def require_states_go_over(device: OpenLine, factor: float = 1.0) -> bytes:
    """A state saved after two samples: the third gives the same again after it was restored."""
    device.reset()
    device.run(SAMPLES[:2])
    saved = device.save_state()
    expected = device.run(SAMPLES[2]).outputs["y"]
    assert np.allclose(expected.reshape(-1), SAMPLES.sum(0).reshape(-1) * (1 + factor))
    device.run(SAMPLES)
    device.restore_state(saved)
    np.testing.assert_array_equal(device.run(SAMPLES[2]).outputs["y"], expected)
    device.restore_state(saved)
    with pytest.raises(deploy.DeployError, match="the saved state is damaged"):
        device.restore_state(saved[:-1] + b"\xff")
    np.testing.assert_array_equal(device.run(SAMPLES[2]).outputs["y"], expected)
    return saved


@pytest.mark.parametrize(
    "board", ["host", *(pytest.param(name, marks=pytest.mark.qemu) for name in EMULATED)]
)
def test_a_device_continues_from_a_saved_state_also_one_of_the_host(board, require_tool, tmp_path):
    require_tool(*(("gcc",) if board == "host" else ("arm-none-eabi-gcc", "qemu-system-arm")))
    path = running_sums(tmp_path / "sums.onnx")
    with deploy.connect(path, board=board, state=("h=hn", "g=gn")) as device:
        saved = require_states_go_over(device)
    require_tool("gcc")
    here = deploy.in_process(path, state=("h=hn", "g=gn"))
    here.restore_state(saved)
    expected = SAMPLES.sum(0).reshape(-1) * 2
    np.testing.assert_array_equal(here.run({"x": SAMPLES[2]})["y"].reshape(-1), expected)
    assert len(saved) == 32 + 2 * 4 * WIDTH


@pytest.mark.parametrize("board", ["host", pytest.param("mps2-an386", marks=pytest.mark.qemu)])
def test_a_cartridges_state_is_saved_and_not_that_of_the_model_before(board, require_tool, tmp_path):
    require_tool(*(("gcc",) if board == "host" else ("arm-none-eabi-gcc", "qemu-system-arm")))
    built_in, later = (
        deploy.compile(running_sums(tmp_path / "sums.onnx", factor), board=board, state=("h=hn", "g=gn"))
        for factor in (1, 3)
    )
    stateless = deploy.compile(running_sums(tmp_path / "sums.onnx"), board=board, state="none")
    later.save_cartridge(tmp_path / "later.cart")
    stateless.save_cartridge(tmp_path / "stateless.cart")
    deploy.new(built_in, tmp_path / "project", slots=24 * 1024, arena=16 * 1024)
    with deploy.connect(tmp_path / "project") as device:
        first = require_states_go_over(device)
        device.load(tmp_path / "later.cart")
        with pytest.raises(deploy.DeployError, match="the saved state is of the model with hash"):
            device.restore_state(first)
        require_states_go_over(device, factor=3)
        device.load(tmp_path / "stateless.cart")
        with pytest.raises(deploy.DeployError, match="keeps no state between runs"):
            device.save_state()
