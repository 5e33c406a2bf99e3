"""With --check a pass or a schedule that changes what is computed is found, and named."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import deploy
from aot.errors import CheckError
from aot.extensions import PASSES, register, unregister
from aot.ir.graph import Graph
from aot.ir.types import Array
from aot.passes.outcome import Outcome, Rewritten
from codegen.checking import _are_same
from codegen.loops.ir import Proc
from codegen.loops.schedule import split
from deploy import lang

pytestmark = pytest.mark.usefixtures("own_folders")
DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"
QUICK = ("tiny_kws_dscnn_int8", "tiny_ic_resnet8_int8", "tiny_ad_fc_f32", "tflm_mnist_lstm_int8")


def darker(graph: Graph) -> Outcome:
    """Weights of the first convolution lose their last bit."""
    name = next(value for value, array in graph.constants.items() if array.ndim == 4)
    even: Array = np.bitwise_and(graph.constants[name].astype(np.int8), np.int8(-2))
    return Rewritten(replace(graph, constants={**graph.constants, name: even}))


@pytest.fixture
def wrong_pass():
    module = SimpleNamespace(
        __doc__="Makes it darker.", darker=darker, TABLE="MEANING", BEFORE="remove-identity", WHY="anywhere"
    )
    register(PASSES, "darker", module)
    yield
    unregister(PASSES, "darker")


def test_a_pass_that_changes_the_result_is_found(wrong_pass):
    deploy.compile(DIGITS, "mps2-an386")  # nobody looks
    with pytest.raises(CheckError) as caught:
        deploy.compile(DIGITS, "mps2-an386", check=True)
    assert caught.value.what.startswith('the pass darker changes what the model computes: output "digit", ')
    assert " of 20 elements, first at [" in caught.value.what
    assert (caught.value.where, caught.value.hint) == ("digits.tflite", "--disable darker skips it")
    deploy.compile(DIGITS, "mps2-an386", check=True, disable="darker")


def test_the_command_says_it_too(wrong_pass, run_deploy):
    done = run_deploy("inspect", DIGITS, "--board", "host", "--check")
    assert (done.status, done.err.startswith("error: the pass darker changes what")) == (1, True)


def test_a_schedule_that_changes_the_result_is_found(monkeypatch):
    def forgetful(proc: Proc, var: str, factor: int, outer: str, inner: str) -> Proc:
        made = split(proc, var, factor, outer, inner)
        return Proc(made.name, made.params, made.body[:1])  # without the rest of the split

    @lang.layer_schedule("conv2d")
    def in_fives(s: lang.Schedule, knobs: lang.Knobs) -> None:
        s.split("o", 5)

    deploy.compile(DIGITS, "host", schedules=in_fives, check=True)
    monkeypatch.setattr("codegen.loops.schedule.split", forgetful)
    with pytest.raises(
        CheckError, match="the schedule in_fives changes what conv2d_3x3_1_to_8_by_8 computes"
    ):
        deploy.compile(DIGITS, "host", schedules=in_fives, check=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_the_passes_of_real_models_change_nothing(name, shared_dir):
    deploy.compile(shared_dir / "models" / name / "model.tflite", "mps2-an386", check=True)


def test_sums_of_floats_may_be_made_in_another_order():
    numbers = np.array([1.0, 1000.0, np.nan], np.float32)
    assert _are_same(numbers, numbers + np.float32(0.005))
    assert not _are_same(numbers, numbers + np.float32(0.02))
    assert not _are_same(np.array([1, 2]), np.array([1, 3]))
