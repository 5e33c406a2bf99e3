"""An exported model is compared with its framework's: another function, state and randomness are errors."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from error_facts import refused
from onnx import helper
from onnx_files import onnx_file

from aot.errors import ToolError
from aot.frontend.load import parse_model
from aot.ir.graph import Graph
from aot.ir.types import Array
from deploy.frameworks.framework import FrameworkModel, Sample
from deploy.frameworks.judging import invented, judge
from deploy.frameworks.torch_export import needs_a_value
from deploy.frameworks.user_lines import assigned_at

SAMPLE = {"x": np.linspace(-1, 1, 8, dtype=np.float32).reshape(1, 8)}


def doubling() -> Graph:
    """The exported model: two times its input."""
    node = helper.make_node("Mul", ("x", "two"), "y")
    file = onnx_file([node], {"x": (1, 8)}, {"y": (1, 8)}, {"two": np.float32(2)})
    return parse_model(file, "module.onnx")


class FakeNetwork(FrameworkModel):
    """A framework's model that computes its outputs by a function."""

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self.compute, self.state = compute, 0.0

    @property
    def name(self) -> str:
        return "Net"

    @property
    def examples(self) -> Sequence[Any]:
        return list(SAMPLE.values())

    def exported(self) -> bytes:
        raise AssertionError("the graph is given")

    def outputs(self, sample: Sample) -> list[Array]:
        return [self.compute(sample["x"])]


class FakeMemory(FakeNetwork):
    """Adds what it was given before."""

    def outputs(self, sample: Sample) -> list[Array]:
        values: Any = sample["x"]
        self.state += float(np.abs(values).sum())
        return [2 * values + self.state]

    def kept_values(self) -> Mapping[str, object]:
        return {"state": self.state, "size": 8}


def test_the_same_function_is_within_the_limit():
    found = judge(FakeNetwork(lambda x: 2 * x), "PyTorch", doubling(), [SAMPLE])
    assert (found.distance, found.limit, found.inputs) == (0.0, 1e-3, 4)


def test_a_branch_that_the_example_did_not_take_is_an_error():
    with pytest.raises(ToolError) as caught:
        judge(FakeNetwork(lambda x: 2 * x if x.sum() >= -1e-5 else x - 1), "PyTorch", doubling(), [SAMPLE])
    head, where, *_ = str(caught.value).splitlines()
    assert head.startswith("error: the exported model computes something different: an output is ")
    assert head.endswith("(0.1% of its largest value)")
    assert where in ("  Net, input: noise", "  Net, input: negated noise")


def test_a_missing_number_is_no_small_distance():
    with pytest.raises(ToolError, match="inf away"):
        judge(FakeNetwork(lambda x: np.where(x > 0.9, np.nan, 2 * x)), "PyTorch", doubling(), [SAMPLE])


def test_state_is_an_error_that_names_what_is_kept():
    refused(
        lambda: judge(FakeMemory(np.negative), "PyTorch", doubling(), [SAMPLE]),
        "PyTorch returns different outputs state input",
        ToolError,
    )


def test_random_numbers_are_an_error():
    rng = np.random.default_rng(0)
    with pytest.raises(ToolError, match="draws random numbers"):
        judge(FakeNetwork(lambda x: 2 * x + rng.normal()), "PyTorch", doubling(), [SAMPLE])


def test_invented_inputs_that_the_framework_refuses_are_left_out():
    def scaled(x: Any) -> Any:
        if not np.array_equal(x, SAMPLE["x"]):
            raise ValueError("this scaler was not fitted for that")
        return 2 * x

    assert judge(FakeNetwork(scaled), "scikit-learn", doubling(), [SAMPLE]).inputs == 1


def test_invented_integers_stay_between_those_of_the_sample():
    tokens = {"ids": np.array([[3, 7, 5]], np.int64)}
    for name, sample in invented(tokens):
        assert sample["ids"].dtype == np.int64
        assert 3 <= sample["ids"].min() <= sample["ids"].max() <= 7, name
    assert [name for name, _ in invented(tokens)] == ["noise", "negated noise", "zeros"]


def test_code_that_asks_for_a_value_is_recognised_by_the_cause_too():
    class GuardOnDataDependentSymNode(Exception):  # noqa: N818  # PyTorch's name
        """As PyTorch raises it."""

    inner = GuardOnDataDependentSymNode()
    outer = RuntimeError("export failed")
    outer.__cause__ = inner
    assert needs_a_value(inner)
    assert needs_a_value(outer)
    assert not needs_a_value(RuntimeError("no"))


class Writes:
    """Writes its attributes in four ways."""

    def __init__(self) -> None:
        self.plain: Any = 0
        self.row: Any = [0]
        self.buffer: Any = None
        self.unchanged = 0

    def forward(self) -> None:
        self.plain += 1
        self.row[0] = 2
        self.buffer.add_(3)


def test_the_line_that_writes_an_attribute_is_found():
    first = Writes.forward.__code__.co_firstlineno
    found = {name: assigned_at(Writes, name) for name in ("plain", "row", "buffer", "unchanged")}
    lines = {"plain": 1, "row": 2, "buffer": 3}
    expected = {name: f"test_judging.py, line {first + line}" for name, line in lines.items()}
    assert found == {**expected, "unchanged": ""}
