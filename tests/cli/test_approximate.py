"""--approximate on the command line and in Python: what verify says of it, and the C that is made."""

import pytest
from onnx import helper
from onnx_files import onnx_file

import deploy
from codegen.kernels.approximate import STATED

pytestmark = pytest.mark.cc


@pytest.fixture
def curves(tmp_path):
    """A float model of a softmax, a tanh and a sigmoid."""
    nodes = [
        helper.make_node(kind, [a], [b])
        for kind, a, b in (("Tanh", "x", "a"), ("Softmax", "a", "b"), ("Sigmoid", "b", "y"))
    ]
    path = tmp_path / "curves.onnx"
    path.write_bytes(onnx_file(nodes, {"x": [1, 8]}, {"y": [1, 8]}))
    return path


def test_verify_says_the_bound_and_holds_it(curves, run_deploy):
    outcome = run_deploy("verify", curves, "--board", "host", "--approximate")
    assert outcome.status == 0, outcome.err
    assert f"equal to the reference within 1e-05 of the largest; {STATED}" in outcome.out
    exact = run_deploy("verify", curves, "--board", "host")
    assert exact.status == 0, exact.err
    assert STATED not in exact.out


def test_the_c_says_that_it_was_asked_for_and_calls_no_library(curves, own_folders):
    def text(asked: bool) -> str:
        compiled = deploy.compile(str(curves), board="mps2-an386", approximate=asked)
        return "".join(compiled.model.sources.values())

    approximate = text(True)
    assert "--approximate" in approximate
    assert "expf(" not in approximate
    assert "tanhf(" not in approximate
    for name in ("exp", "tanh", "sigmoid"):
        assert f"static inline float approximate_{name}(float v)" in approximate
    assert "approximate_" not in text(False)
