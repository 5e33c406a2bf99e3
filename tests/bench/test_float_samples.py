"""The float model in a report gets the floats that were given, not integers that were clamped on the way."""

from pathlib import Path

import numpy as np

import deploy
from aot.frontend.load import load_model
from aot.ir.tensor_spec import graph_specs
from deploy.reporting.given_data import as_floats, give_data

DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"


def test_floats_beyond_the_range_reach_the_float_model_as_they_are():
    graph = load_model(DIGITS)
    inputs, outputs = (graph_specs(graph, names) for names in (graph.inputs, graph.outputs))
    images = np.full((2, *inputs[0].shape[1:]), 7.5, np.float32)  # the model's integers end at 1.0
    data = give_data({inputs[0].name: images}, True, inputs, outputs, "data.npz")
    (value,) = as_floats(graph, data.as_given).each[0]
    assert value.dtype == np.float32
    assert np.all(value == 7.5)
    (stored,) = data.samples.each[0]
    assert np.all(stored == 127)


def test_integers_are_made_floats():
    graph = load_model(DIGITS)
    inputs, outputs = (graph_specs(graph, names) for names in (graph.inputs, graph.outputs))
    images = np.zeros((1, *inputs[0].shape[1:]), np.int8)
    data = give_data({inputs[0].name: images}, False, inputs, outputs, "data.npz")
    (value,) = as_floats(graph, data.as_given).each[0]
    assert np.allclose(value, 128 / 255, atol=1e-6)
