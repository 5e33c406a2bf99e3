"""A tiny model as a file, its archive and its inputs: what the commands work on."""

import numpy as np
import pytest
from tiny_models import TINY


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "tiny.tflite"
    path.write_bytes(TINY["classifier"]())
    return path


@pytest.fixture
def archive(model, tmp_path, run_deploy):
    """For the board host."""
    path = tmp_path / "tiny.tar"
    outcome = run_deploy("compile", model, "--board", "host", "-o", path)
    assert outcome.status == 0, outcome.err
    return path


@pytest.fixture
def project(archive, tmp_path, run_deploy):
    path = tmp_path / "project"
    outcome = run_deploy("new", archive, path, "--board", "host")
    assert outcome.status == 0, outcome.err
    return path


@pytest.fixture
def inputs(tmp_path):
    """A series of three samples."""
    path = tmp_path / "in.npz"
    images = np.random.default_rng(0).integers(-128, 128, (3, 1, 8, 8, 1)).astype(np.int8)
    np.savez(path, input_0=images)
    return path
