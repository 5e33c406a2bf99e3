"""A step of an optimiser gives what ONNX's own reference gives, the first step and a later one."""

from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator
from onnx_files import info, onnx_file

from aot.errors import ModelError
from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph

DOMAIN = "ai.onnx.preview.training"
RNG = np.random.default_rng(3)
SHAPES = ((2, 3), (5,))
OPERATORS: dict[str, tuple[int, dict[str, Any]]] = {  # kinds of operands of each tensor, and attributes
    "Adagrad": (3, {"decay_factor": 0.1, "epsilon": 1e-3, "norm_coefficient": 0.01}),
    "Adam": (4, {"alpha": 0.8, "beta": 0.95, "norm_coefficient": 0.01, "norm_coefficient_post": 0.1}),
    "Momentum": (3, {"alpha": 0.9, "beta": 0.4, "norm_coefficient": 0.01, "mode": "standard"}),
    "Momentum, nesterov": (3, {"alpha": 0.9, "beta": 0.4, "norm_coefficient": 0.01, "mode": "nesterov"}),
}


def file_of(operator: str, kinds: int, attributes: dict[str, Any], cut: int = 0) -> bytes:
    names = [f"{kind}{place}" for kind in range(kinds) for place in range(len(SHAPES))]
    made = [f"new{number}" for number in range((kinds - 1) * len(SHAPES))]
    given = [(name, shape) for name, shape in zip(names, SHAPES * kinds, strict=True)]
    given = given[: len(given) - cut]
    inputs = [info("rate"), info("count", element=7), *(info(name, *shape) for name, shape in given)]
    operands = ["rate", "count", *(name for name, _ in given)]
    node = helper.make_node(operator.split(",")[0], operands, made, domain=DOMAIN, **attributes)
    return onnx_file([node], inputs, dict.fromkeys(made))


@pytest.mark.parametrize("count", [0, 3])
@pytest.mark.parametrize("operator", OPERATORS)
def test_a_step_gives_what_the_reference_gives(operator, count):
    kinds, attributes = OPERATORS[operator]
    data = file_of(operator, kinds, attributes)
    graph = read_onnx(data, "step.onnx")
    inputs = {n: np.abs(RNG.normal(size=graph.types[n].shape)).astype(np.float32) for n in graph.inputs}
    inputs["count"] = np.asarray(count, np.int64)
    wanted = ReferenceEvaluator(data).run(None, inputs)
    made = run_graph(graph, inputs)
    for name, array in zip(graph.outputs, wanted, strict=True):
        assert np.allclose(made[name], array, rtol=1e-5), name


def test_operands_that_are_not_the_same_number_for_each_tensor_are_refused():
    with pytest.raises(ModelError, match="5 operands after its rate and count are not 3 for each tensor"):
        read_onnx(file_of("Adagrad", *OPERATORS["Adagrad"], cut=1), "step.onnx")


def test_a_mode_that_does_not_exist_is_refused():
    attributes = {**OPERATORS["Momentum"][1], "mode": "fast"}
    with pytest.raises(ModelError, match='mode "fast" is not one of standard, nesterov'):
        read_onnx(file_of("Momentum", 3, attributes), "step.onnx")
