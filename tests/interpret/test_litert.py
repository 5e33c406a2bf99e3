"""In mode litert-ref the interpreter equals LiteRT's reference kernels (BUILTIN_REF) in every bit.

Its optimised kernels are not a measure: they differ by one here and there, in depthwise layers, additions,
softmax and dense layers. The stored outputs beside the repository hold mode tflm to the same standard.
"""

import numpy as np
import pytest
from litert_oracle import run_litert
from tiny_models import TINY

from aot.frontend.load import parse_model
from aot.interpret import run_graph
from aot.passes.pipeline import run_meaning

READABLE = sorted(TINY.keys() - {"padded"})  # PAD is not supported
SAMPLES = 25


@pytest.mark.parametrize("name", READABLE)
def test_a_tiny_model_equals_litert(name):
    data = TINY[name]()
    graph = parse_model(data, f"{name}.tflite", "litert-ref")
    (x,), (y,) = graph.inputs, graph.outputs
    shape = (SAMPLES, *graph.types[x].shape)
    inputs = np.random.default_rng(7).integers(-128, 128, shape).astype(np.int8)
    expected = run_litert(data, inputs)
    for model in (graph, run_meaning(graph).graph):
        got = np.stack([run_graph(model, {x: sample})[y] for sample in inputs])
        assert np.array_equal(got, expected)
