"""The models that tests build are models to LiteRT too."""

import numpy as np
import pytest
import tflite
from litert_oracle import random_inputs, run_litert
from make_digits import DEMO
from tiny_models import TINY

from aot.frontend.tflite.read import read_tflite
from aot.interpret import run_graph
from aot.passes.pipeline import run_meaning


@pytest.mark.parametrize("name", sorted(TINY))
def test_litert_runs_a_built_model_and_its_results_use_the_range(name):
    model = TINY[name]()
    results = run_litert(model, random_inputs(model, samples=4, seed=1))
    assert np.ptp(results.astype(int)) > 60, "results hardly differ, so they would test nothing"
    assert np.mean(np.abs(results.astype(int)) >= 127) < 0.6, "most results are saturated"


MODELS = {**TINY, "digits": (DEMO / "digits.tflite").read_bytes}


@pytest.mark.parametrize("name", sorted(MODELS))
def test_our_reference_gives_what_litert_gives_in_every_bit(name):
    model = MODELS[name]()
    inputs = random_inputs(model, samples=20, seed=2)
    graph = run_meaning(read_tflite(model, f"{name}.tflite", "litert-ref")).graph
    (source,), (result,) = graph.inputs, graph.outputs
    ours = np.stack([run_graph(graph, {source: sample})[result] for sample in inputs])
    assert np.array_equal(ours, run_litert(model, inputs))


@pytest.mark.parametrize("name", sorted(TINY))
def test_a_built_model_has_the_same_bytes_each_time(name):
    assert TINY[name]() == TINY[name]()


def test_weights_are_aligned_for_readers_that_map_them():
    data = TINY["classifier"]()
    model = tflite.Model.GetRootAs(data, 0)
    filled = [model.Buffers(i) for i in range(model.BuffersLength()) if model.Buffers(i).DataLength()]
    assert len(filled) == 5
    assert all((b._tab.Vector(b._tab.Offset(4)) % 16) == 0 for b in filled)
