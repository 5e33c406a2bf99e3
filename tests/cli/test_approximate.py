"""--approximate on the command line and in Python: what verify says of it, and the C that is made."""

import onnx
import pytest
from onnx import TensorProto, helper

import deploy
from codegen.kernels.approximate import STATED

pytestmark = pytest.mark.cc


@pytest.fixture
def curves(tmp_path):
    """A float model of a softmax, a tanh and a sigmoid."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 8]) for name in "xy")
    nodes = [
        helper.make_node(kind, [a], [b])
        for kind, a, b in (("Tanh", "x", "a"), ("Softmax", "a", "b"), ("Sigmoid", "b", "y"))
    ]
    graph = helper.make_graph(nodes, "curves", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path := tmp_path / "curves.onnx")
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
