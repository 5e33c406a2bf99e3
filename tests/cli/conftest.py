"""A tiny model as a file, its archive and its inputs: what the commands work on."""

import numpy as np
import pytest

from platforms.board_files import load_board


@pytest.fixture
def few_boards(monkeypatch):
    """A report that is not asked for other boards need not compile for each kind of them."""
    boards = tuple(load_board(name) for name in ("nucleo-l4r5zi", "arduino-uno", "mps2-an386"))
    monkeypatch.setattr("deploy.reporting.make.all_boards", lambda: boards)


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
