"""What long work tells of itself: every function that may take seconds calls `on_progress` with its steps."""

import inspect
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from onnx import helper
from onnx_files import onnx_file

import deploy
from deploy import lang
from deploy.cli.console import Step, progress, reports_progress

pytestmark = pytest.mark.usefixtures("own_folders")
DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"
LONG = (
    "bench", "boards", "build", "compile", "connect", "evidence", "explore", "export", "flash", "in_process",
    "inspect", "new", "quantize", "report", "run", "tune", "verify",
)  # fmt: skip
SHORT = ("Model", "Run", "accelerators", "cache", "diff", "docs", "doctor", "graph", "load", "ops", "records")


class Listener:
    """Keeps the steps, and checks that counts begin at none and never go back."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def __call__(self, step: Step) -> None:
        self.steps.append(step)

    @property
    def titles(self) -> list[str]:
        return [title for title, _ in groupby(step.title for step in self.steps)]

    def of(self, title: str) -> list[tuple[int, int]]:
        return [(step.done, step.steps) for step in self.steps if step.title == title]


@pytest.mark.parametrize("name", LONG)
def test_each_long_function_has_the_same_keyword(name):
    function = getattr(deploy, name)
    keyword = inspect.signature(function).parameters["on_progress"]
    assert keyword.kind is keyword.KEYWORD_ONLY
    assert keyword.default is None
    assert "`on_progress(step)` is called with each step of long work" in function.__doc__


def test_a_new_function_is_long_or_short():
    assert {*LONG, *SHORT, "DeployError", "new_accelerator"} == set(deploy.__all__)
    assert "on_progress" in inspect.signature(lang.search).parameters


@pytest.mark.cc
def test_a_verification_reports_each_sample_of_board_reference_and_oracle():
    heard, images = Listener(), np.zeros((5, 1, 8, 8, 1), np.int8)
    deploy.verify(DIGITS, "host", images, oracle="none", on_progress=heard)
    assert heard.titles[0] == "compiling"
    assert heard.titles[-2:] == ["running", "computing the reference"]
    wanted = [*((n, 5) for n in range(5)), (5, 5)]
    assert heard.of("running") == heard.of("computing the reference") == wanted


@pytest.mark.cc
@pytest.mark.parametrize(
    ("function", "more", "title", "steps"),
    [
        (deploy.run, {"inputs": np.zeros((3, 1, 8, 8, 1), np.int8), "repeat": 2}, "running", 6),
        (deploy.bench, {"median_of": 4}, "running", 4),
    ],
)
def test_runs_are_steps(function, more, title, steps):
    heard = Listener()
    function(DIGITS, board="host", on_progress=heard, **more)
    assert heard.of(title) == [(n, steps) for n in range(steps + 1)]


def test_an_exploration_reports_each_combination_once_it_is_known():
    heard = Listener()
    varied = {"optimize": ["speed", "ram"]}
    deploy.explore(DIGITS, ["nano-33-ble", "rpi-pico"], varied, jobs=1, on_progress=heard)
    assert heard.titles == ["exploring"]
    assert heard.of("exploring") == [(1, 4), (2, 4), (3, 4), (4, 4), (4, 4)]
    assert heard.steps[0].doing == "digits on nano-33-ble"


def test_refining_reports_each_variant(tmp_path, require_package):
    require_package("onnxruntime")
    heard, rng = Listener(), np.random.default_rng(0)
    node, weights = helper.make_node("MatMul", ["x", "w"], ["y"]), {"w": rng.normal(size=(9, 4))}
    model = onnx_file([node], {"x": (1, 9)}, {"y": (1, 4)}, weights, opset=13)
    (tmp_path / "float.onnx").write_bytes(model)
    samples = {"x": rng.normal(size=(12, 1, 9)).astype(np.float32)}
    deploy.quantize(tmp_path / "float.onnx", samples, tmp_path / "int8.onnx", refine=True, on_progress=heard)
    assert heard.titles == ["refining", "comparing"]
    assert [step.doing for step in heard.steps if step.title == "refining"] == [
        "ranges of the values", "as it is", "balanced ranges", "corrected biases", "both", "",
    ]  # fmt: skip


def test_only_the_outermost_work_is_heard():
    heard = Listener()

    @reports_progress
    def work(*, on_progress=None):
        with progress("outer", 1) as outer:
            outer.step("all of it")
            with progress("inner", 7) as inner:
                inner.step("unheard")

    work(on_progress=heard)
    work()
    assert [str(step) for step in heard.steps] == ["outer 0/1: all of it", "outer 1/1"]


def test_an_exception_of_the_listener_stops_the_work():
    def stop(step: Step) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        deploy.explore(DIGITS, "nano-33-ble", jobs=1, on_progress=stop)
    heard = Listener()
    deploy.explore(DIGITS, "nano-33-ble", jobs=1)
    assert heard.steps == []
